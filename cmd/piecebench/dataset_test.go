package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestDatasetCommands(t *testing.T) {
	p := newProgram(t)
	expect := func(wantCode int, args ...string) (stdout, stderr string) {
		t.Helper()
		stdout, stderr, code := p.run(append([]string{"dataset"}, args...)...)
		if code != wantCode {
			t.Fatalf("%v: exit code %d, want %d\n%s%s", args, code, wantCode, stdout, stderr)
		}
		return stdout, stderr
	}
	t.Setenv("PIECES", "2")
	t.Setenv("PIECE_SIZE", "1MiB")
	t.Setenv("SEED", "") // counts as unset
	expect(0, "create")
	list, err := os.ReadFile(filepath.Join(p.dir, "data", "pieces.txt"))
	if err != nil || strings.Count(string(list), "\n") != 2 {
		t.Fatalf("pieces.txt: %q, %v", list, err)
	}
	expect(0, "verify")

	// cid prints what create has found, and takes many files and standard input.
	cids := strings.Fields(string(list))
	flat := []string{filepath.Join("data", "flat", cids[0]), filepath.Join("data", "flat", cids[1])}
	out, _ := expect(0, "cid", flat[0], flat[1])
	for i, line := range strings.Split(strings.TrimSpace(out), "\n") {
		f := strings.Fields(line)
		if len(f) != 5 || f[0] != cids[i] || !strings.HasPrefix(f[1], "bafkzcib") || f[2] != "1040384" || f[3] != "1048576" || f[4] != flat[i] {
			t.Errorf("cid: %q", line)
		}
	}
	stdin, err := os.Open(filepath.Join(p.dir, flat[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	cmd := p.command("dataset", "cid", "-")
	cmd.Stdin = stdin
	if out, err := cmd.Output(); err != nil || !strings.HasPrefix(string(out), cids[0]) || !strings.HasSuffix(string(out), " -\n") {
		t.Errorf("cid of standard input: %q, %v", out, err)
	}

	// A fault: verify says so with exit code 1, create fixes it.
	if err := os.Truncate(filepath.Join(p.dir, flat[1]), 5); err != nil {
		t.Fatal(err)
	}
	if out, _ := expect(1, "verify"); !strings.Contains(out, cids[1]+": 5 bytes long") {
		t.Errorf("verify: %q", out)
	}
	expect(0, "create")
	expect(0, "verify")

	// The copy of an imported file is the same piece.
	out, _ = expect(0, "import", "--dir", "other", flat[0])
	if out != fmt.Sprintln(cids[0], flat[0]) {
		t.Errorf("import: %q", out)
	}
	expect(0, "verify", "--dir", "other")
}

func TestDatasetRefusesBadInput(t *testing.T) {
	p := newProgram(t)
	for says, args := range map[string][]string{
		"256MiB and 512MiB":  {"create", "--piece-size", "300MiB"},
		"largest piece":      {"create", "--piece-size", "1TiB"},
		"PIECES=0:":          {"create", "--pieces", "0"},
		"PIECES=x:":          {"create", "--pieces", "x"},
		"SEED=-1:":           {"create", "--seed", "-1"},
		"free":               {"create", "--pieces", "1000000", "--piece-size", "64GiB"},
		"data/pieces.json":   {"verify"},
		"/no/such/file":      {"import", "/no/such/file"},
		"/no/such/other":     {"cid", "/no/such/other"},
		"/dev/null":          {"cid", "/dev/null"},
		"requires at least":  {"cid"},
		"unknown flag: --no": {"create", "--no"},
	} {
		stdout, stderr, code := p.run(append([]string{"dataset"}, args...)...)
		if code != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, says) {
			t.Errorf("%v: exit code %d, %q, %q; want 2 and one line with %q", args, code, stdout, stderr, says)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(p.dir, "data", "*", "*")); len(files) > 0 {
		t.Errorf("left: %v", files)
	}
}

func TestDatasetCreateInterruptedBySignal(t *testing.T) {
	p := newProgram(t)
	cmd := p.command("dataset", "create")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hidden := filepath.Join(p.dir, "data", "*", ".*")
	for deadline := time.Now().Add(10 * time.Second); ; {
		if files, _ := filepath.Glob(hidden); len(files) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no file within 10 s")
		}
		time.Sleep(time.Millisecond)
	}
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("exit code %d, %q", code, &stderr)
	}
	for _, pattern := range []string{hidden, filepath.Join(p.dir, "data", "flat", "*"), filepath.Join(p.dir, "data", "pieces*")} {
		if files, _ := filepath.Glob(pattern); len(files) > 0 {
			t.Errorf("left: %v", files)
		}
	}
}
