package main_test

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"piecebench/bench/result"
	"piecebench/internal/contained"
	"piecebench/internal/testneeds"
	"piecebench/lab"
	"piecebench/lab/labtest"
)

func TestMain(m *testing.M) { os.Exit(contained.Run(m.Run)) }

// program is piecebench in an installation and a working directory of its own.
type program struct {
	t       *testing.T
	install string
	dir     string
}

func newProgram(t *testing.T, programs ...string) program {
	return program{t, labtest.Install(t, append(programs, "piecebench")...), t.TempDir()}
}

func (p program) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.install, "bin", "piecebench"), args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "MAKEFLAGS=")
	return cmd
}

// run runs piecebench to its end.
func (p program) run(args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	cmd := p.command(args...)
	var out, diagnostics strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &diagnostics
	if err := cmd.Run(); cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return out.String(), diagnostics.String(), cmd.ProcessState.ExitCode()
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// labsLeft returns the names of namespaces that a lab left.
func labsLeft(t *testing.T, name string) []string {
	t.Helper()
	l, err := lab.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	if l.Exists() {
		return []string{l.ServerNamespace(), l.ClientNamespace()}
	}
	return nil
}

// shortSweep is a sweep of four cells over a link that any machine can do.
func shortSweep(t *testing.T, labName string) []string {
	return []string{"bench", "--name", labName, "--prometheus-port", strconv.Itoa(labtest.FreePort(t)), "--pieces", "2", "--piece-size", "8MiB", "--links", "200mbit/20ms",
		"--modes", "full,1MiB", "--concurrency", "4,", "--duration", "3s", "--warmup", "1s", "--verify", "0.5"}
}

func rows(t *testing.T, file string) []map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var named []map[string]string
	for _, row := range table[1:] {
		m := map[string]string{}
		for i, column := range table[0] {
			m[column] = row[i]
		}
		named = append(named, m)
	}
	return named
}

func TestBenchFromNothingToAReport(t *testing.T) {
	testneeds.Root(t)
	p := newProgram(t, "piece-gateway", "netem-agent", "k6")
	t.Setenv("GRAFANA_URL", "http://127.0.0.1:3000/")
	// Nothing of it may reach the lab: no proxy is there, and no token is needed.
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	t.Setenv("AGENT_TOKEN", "tokenOfAnotherHost")
	var stdout, stderr string
	var code int
	labtest.Patiently(t, func(int) string {
		stdout, stderr, code = p.run(shortSweep(t, "e2e")...)
		return stderr
	})
	if code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	reportFile := filepath.Join(p.dir, lastLine(stdout))
	for _, name := range []string{"report.html", "report.md", "run.json", "cells.csv"} {
		if info, err := os.Stat(filepath.Join(filepath.Dir(reportFile), name)); err != nil || info.Size() == 0 {
			t.Errorf("%s beside the last line's path: %v", name, err)
		}
	}
	cells := rows(t, filepath.Join(filepath.Dir(reportFile), "cells.csv"))
	if len(cells) != 4 {
		t.Errorf("%d cells, want 4", len(cells))
	}
	for _, c := range cells {
		if c["success_rate"] != "1" || c["requests_failed"] != "0" {
			t.Errorf("cell %s (%s %s): success rate %q, %s failed", c["cell"], c["target"], c["mode"], c["success_rate"], c["requests_failed"])
		}
		// Each of the 4 clients has a request running at the end, or is between two.
		if cut, err := strconv.Atoi(c["requests_cut"]); err != nil || c["requests_ok"] == "0" || cut < 1 || cut > 4 {
			t.Errorf("cell %s: %s ok, %s cut of 4 clients", c["cell"], c["requests_ok"], c["requests_cut"])
		}
		if c["server_cpu_s_per_gb"] == "" || c["generator_cpu_s_per_gb"] == "" {
			t.Errorf("cell %s has no cost: %v", c["cell"], c)
		}
	}
	run, err := result.Load(filepath.Dir(reportFile))
	if err != nil {
		t.Fatal(err)
	}
	if run.Finished == nil || len(run.Calibrations) != 1 {
		t.Errorf("finished %v, %d calibrations", run.Finished, len(run.Calibrations))
	}
	for key, want := range map[string]string{
		"network device":    "shaped0: veth, MTU 1500",
		"net.ipv4.tcp_wmem": "4096 65536 134217728", // the clients' namespace's, not the host's
		"dataset":           "pieces.json sha256 ",
		"gateway":           "(unknown)", // the commit: make did not build it
		"iproute2":          "iproute2-",
		// Also where the host does not allow it to namespaces.
		"congestion control of the servers": "cubic",
		"congestion control of the clients": "cubic",
	} {
		if got, ok := run.Fingerprint[key]; !ok || !strings.Contains(got, want) {
			t.Errorf("fingerprint: %s is %q, want %q", key, got, want)
		}
	}
	again := " after make up: the lab is removed now, and its Prometheus with it"
	for until, when := range map[string]string{"now": "", strconv.FormatInt(run.Finished.UnixMilli(), 10): again} {
		want := fmt.Sprintf("dashboard%s: http://127.0.0.1:3000/d/piecebench-compare?var-run=%s&from=%d&to=%s\n", when, run.ID, run.Started.UnixMilli(), until)
		if strings.Count(stderr, want) != 1 {
			t.Errorf("nothing said of %sin\n%s", want, stderr)
		}
	}
	if left := labsLeft(t, "e2e"); left != nil {
		t.Errorf("left behind: %v", left)
	}
	if found, err := exec.Command("grep", "-rl", "tokenOfAnotherHost", p.dir).Output(); err == nil {
		t.Errorf("the token stands in %s", found)
	}
}

func TestInterruptKeepsWhatThereIsAndResumeCompletesIt(t *testing.T) {
	testneeds.Root(t)
	p := newProgram(t, "piece-gateway", "netem-agent", "k6")
	var transcript strings.Builder
	var printed []byte
	var code int
	labtest.Patiently(t, func(int) string {
		transcript.Reset()
		cmd := p.command(shortSweep(t, "e2e")...)
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		// A session of its own, so that the signal reaches what Ctrl-C would.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for said := bufio.NewScanner(stderr); said.Scan(); {
			transcript.WriteString(said.Text() + "\n")
			if strings.HasPrefix(said.Text(), "cell 1 of 4") {
				if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
					t.Fatal(err)
				}
			}
		}
		printed, _ = io.ReadAll(stdout)
		_ = cmd.Wait()
		code = cmd.ProcessState.ExitCode()
		return transcript.String()
	})
	if code != 1 {
		t.Fatalf("exit code %d\n%s", code, transcript.String())
	}
	if !strings.Contains(transcript.String(), "RESUME=") {
		t.Errorf("no word of how to go on:\n%s", transcript.String())
	}
	if left := labsLeft(t, "e2e"); left != nil {
		t.Errorf("left behind: %v", left)
	}
	folder := filepath.Dir(lastLine(string(printed)))
	kept := rows(t, filepath.Join(p.dir, folder, "cells.csv"))
	if len(kept) == 0 || len(kept) > 3 {
		t.Errorf("%d cells kept", len(kept))
	}
	if parts, _ := filepath.Glob(filepath.Join(p.dir, folder, "requests", "*")); len(parts) != len(kept) {
		t.Errorf("records of %d cells where %d are kept: %v", len(parts), len(kept), parts)
	}

	var out []byte
	var err error
	labtest.Patiently(t, func(int) string {
		resume := p.command(shortSweep(t, "e2e")...)
		resume.Env = append(resume.Env, "RESUME="+folder)
		out, err = resume.CombinedOutput()
		return string(out)
	})
	if err != nil {
		t.Fatalf("resuming: %v\n%s", err, out)
	}
	whole := rows(t, filepath.Join(p.dir, folder, "cells.csv"))
	if len(whole) != 4 {
		t.Errorf("%d cells after resuming, want 4", len(whole))
	}
	if whole[0]["requests_ok"] != kept[0]["requests_ok"] {
		t.Errorf("resuming measured the first cell again")
	}
}

func TestBadInputIsOneLineAndLeavesNothing(t *testing.T) {
	p := newProgram(t)
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"concurrency of 0", []string{"bench", "--concurrency", "0"}, "CONCURRENCY=0"},
		{"a rate that tc cannot do", []string{"bench", "--links", "1bit/40ms"}, "LINKS=1bit/40ms"},
		{"an unknown profile", []string{"bench", "--profile", "slow"}, "known: "},
		{"a range larger than the piece", []string{"bench", "--modes", "100MiB", "--piece-size", "8MiB"}, "larger than a piece"},
		{"an unknown flag", []string{"bench", "--clients", "3"}, "unknown flag"},
		{"no such manifest", []string{"run", "--targets", "x=http://127.0.0.1:1/piece/{piece}", "--links", "none"}, "pieces.json"},
		{"a lab target without a lab", []string{"run", "--links", "none", "--manifest", manifest(t)}, "no lab"},
		{"a link without an agent", []string{"run", "--targets", "x=http://127.0.0.1:1/piece/{piece}", "--modes", "1MiB", "--manifest", manifest(t)}, "--links none"},
		{"a target that does not answer", []string{"run", "--targets", "x=http://127.0.0.1:1/piece/{piece}", "--links", "none", "--modes", "1MiB", "--manifest", manifest(t)}, "does not answer"},
		{"a corrupt manifest", []string{"run", "--targets", "x=http://127.0.0.1:1/piece/{piece}", "--links", "none", "--manifest", corrupt(t)}, "pieces.json"},
		{"a report of nothing", []string{"report", "none"}, "run.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := tree(t, p.dir)
			started := time.Now()
			stdout, stderr, code := p.run(c.args...)
			if code != 2 {
				t.Errorf("exit code %d after %s, want 2\n%s%s", code, time.Since(started), stdout, stderr)
			}
			if strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.says) {
				t.Errorf("said %q; want one line with %q", stderr, c.says)
			}
			if after := tree(t, p.dir); after != before {
				t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

func TestMoreClientsThanDescriptorsAreRefusedBeforeAnything(t *testing.T) {
	testneeds.Root(t) // for bench
	p := newProgram(t, "piece-gateway", "netem-agent", "k6")
	for _, args := range [][]string{
		{"plan"},
		{"bench"},
		{"run", "--targets", "x=http://127.0.0.1:1/piece/{piece}", "--links", "none", "--modes", "1MiB", "--manifest", manifest(t)},
	} {
		before := tree(t, p.dir)
		cmd := p.command(append(args, "--concurrency", "1000")...)
		cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `ulimit -n 1024; exec "$0" "$@"`}, cmd.Args...)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 2 || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), "1000 clients need 2100 descriptors, and a process may have 1024") {
			t.Errorf("%s: exit code %d, said %q", args[0], code, out)
		}
		if after := tree(t, p.dir); after != before {
			t.Errorf("%s left behind:\n%s", args[0], after)
		}
	}
}

func TestBenchWithoutRootIsRefusedBeforeAnything(t *testing.T) {
	testneeds.Root(t) // to become somebody else
	p := newProgram(t)
	for dir := p.install; dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := p.command("bench")
	cmd.Dir = p.install
	const nobody = 65534
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	before := tree(t, p.install)
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 2 || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), "needs root") {
		t.Errorf("exit code %d, said %q; want 2 and one line that says what needs root", code, out)
	}
	if after := tree(t, p.install); after != before {
		t.Errorf("left behind:\n%s", after)
	}
}

// manifest makes a dataset outside the working directory.
func manifest(t *testing.T) string {
	return filepath.Join(labtest.Dataset(t), "pieces.json")
}

func corrupt(t *testing.T) string {
	name := manifest(t)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data[:len(data)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// tree lists every path below dir.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	if err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, "\n")
}
