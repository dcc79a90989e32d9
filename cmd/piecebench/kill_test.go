package main_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"piecebench/bench/result"
	"piecebench/lab/labtest"
)

// eventually polls until done is true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within a minute: ", what)
		}
	}
}

// child returns the process that another one has started, 0 if there is none.
func child(of int) int {
	procs, _ := procfs.AllProcs()
	for _, p := range procs {
		if stat, err := p.Stat(); err == nil && stat.PPID == of {
			return p.PID
		}
	}
	return 0
}

func TestK6DiesWithItsRunnerAndTheFirstResumeWorks(t *testing.T) {
	p := newProgram(t, "k6")
	data := labtest.Dataset(t)
	server := httptest.NewServer(http.StripPrefix("/piece/", http.FileServer(http.Dir(filepath.Join(data, "flat")))))
	defer server.Close()
	run := func(where ...string) []string {
		return append([]string{"run", "--targets", "mine=" + server.URL + "/piece/{piece}", "--links", "none", "--modes", "64KiB", "--concurrency", "2,3",
			"--duration", "2s", "--warmup", "200ms", "--manifest", filepath.Join(data, "pieces.json")}, where...)
	}
	folder := filepath.Join(p.dir, "run")
	cmd := p.command(run("--out", folder)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second cell has begun its records", func() bool {
		_, err := os.Stat(filepath.Join(folder, "requests", "002-mine-none-64KiB-3-r1.parquet.unfinished"))
		return err == nil
	})
	k6 := child(cmd.Process.Pid)
	if name, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(k6), "exe")); filepath.Base(name) != "k6" {
		t.Fatalf("the runner's child is %d, %q", k6, name)
	}
	// A k6 that cannot do anything by itself must die too.
	if err := syscall.Kill(k6, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "k6 has died with its runner", func() bool { return syscall.Kill(k6, 0) == syscall.ESRCH })

	resume := p.command(run()...)
	resume.Env = append(resume.Env, "RESUME="+folder)
	if out, err := resume.CombinedOutput(); err != nil {
		t.Fatalf("the first RESUME: %v\n%s", err, out)
	}
	measured, err := result.Load(folder)
	if err != nil || len(measured.Cells) != 2 || measured.Finished == nil {
		t.Errorf("%+v, %v", measured, err)
	}
	if _, err := os.Stat(filepath.Join(folder, "unfinished", "002-mine-none-64KiB-3-r1.parquet.unfinished.1")); err != nil {
		left, _ := os.ReadDir(filepath.Join(folder, "unfinished"))
		t.Errorf("the records of the cell that was killed are gone: %v", left)
	}
}

func TestARunWithoutACellIsKeptAndTold(t *testing.T) {
	p := newProgram(t, "k6")
	data := labtest.Dataset(t)
	server := httptest.NewServer(http.StripPrefix("/piece/", http.FileServer(http.Dir(filepath.Join(data, "flat")))))
	defer server.Close()
	cmd := p.command("run", "--targets", "mine="+server.URL+"/piece/{piece}", "--links", "none", "--modes", "64KiB", "--concurrency", "2,",
		"--duration", "30s", "--warmup", "200ms", "--manifest", filepath.Join(data, "pieces.json"), "--out", "run")
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first cell runs", func() bool {
		lines, _ := os.ReadFile(filepath.Join(p.dir, "run", "logs", "001-mine-none-64KiB-2-r1.progress.jsonl"))
		return len(lines) > 0
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(said.String(), "RESUME=run") {
		t.Errorf("exit code %d\n%s", code, said.String())
	}
	if _, err := os.Stat(filepath.Join(p.dir, "run", "report.html")); err != nil {
		t.Error(err)
	}
}
