package faults

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"piecebench/bench/result"
	"piecebench/internal/testneeds"
	"piecebench/lab/labtest"
)

// What make bench starts does not outlive it: a lab that is left shapes nothing and
// serves nobody, but a sweep that went on would load the servers for hours.
func TestASweepEndsInOrderWhenItsBenchIsKilled(t *testing.T) {
	testneeds.All(t, "it runs a sweep twice")
	testneeds.Root(t)
	install := labtest.Install(t, "piecebench", "k6", "piece-gateway", "netem-agent")
	l := labtest.New(t, "killed")
	work := t.TempDir()
	bench := func(resume string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(install, "bin", "piecebench"), "bench", "--name", l.Name, "--prometheus-port", fmt.Sprint(labtest.FreePort(t)),
			"--pieces", "2", "--piece-size", "8MiB", "--links", link, "--modes", "64KiB", "--concurrency", "2,", "--duration", "1s", "--warmup", "500ms", "--repeat", "2")
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "MAKEFLAGS=", "RESUME="+resume)
		return cmd
	}
	var said bytes.Buffer
	killed := bench("")
	killed.Stdout, killed.Stderr = &said, &said
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	folder := func() string {
		runs, _ := filepath.Glob(filepath.Join(work, "results", "*", result.RunFile))
		if len(runs) == 0 {
			return ""
		}
		return filepath.Dir(runs[0])
	}
	eventually(t, "the second cell", func() bool {
		lines, _ := filepath.Glob(filepath.Join(folder(), "logs", "002-*.progress.jsonl"))
		return len(lines) > 0
	})
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of k6 and the report", func() bool {
		_, err := os.Stat(filepath.Join(folder(), "report.html"))
		k6 := bed{t: t, lab: l}
		return err == nil && k6.pids(K6) == nil
	})
	if out, err := bench(folder()).CombinedOutput(); err != nil {
		t.Fatalf("RESUME: %v\n%s", err, out)
	}
	if run, err := result.Load(folder()); err != nil || len(run.Cells) != 4 || run.Finished == nil {
		t.Errorf("%+v, %v", run, err)
	}
	if l.Exists() {
		t.Error("the lab is left")
	}
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}
