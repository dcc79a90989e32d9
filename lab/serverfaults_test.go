package lab_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"piecebench/internal/testneeds"
	"piecebench/lab/labtest"
	"piecebench/servers"
)

// A server that lost a process must not pass for a slow one, and the lab goes all the same.
func TestAServerThatLosesAProcessIsNamedAndDownLeavesNothing(t *testing.T) {
	testneeds.Root(t)
	for _, c := range []struct{ target, process, says string }{
		{"seaweedfs", "weed", "nothing listens on the server's port 8888"},
		{"glusterfs", "glusterfsd", "its processes were"},
	} {
		t.Run(c.process, func(t *testing.T) {
			r, _ := servers.Of(c.target)
			cfg := configOf(t, r)
			cfg.Bin = filepath.Join(labtest.Install(t, "piece-gateway", "netem-agent", "piecebench", "k6"), "bin")
			l := labtest.New(t, "fault")
			up(t, l, cfg)
			out := filepath.Join(t.TempDir(), "run")
			var said bytes.Buffer
			run := l.Command(filepath.Join(cfg.Bin, "piecebench"), "run", "--manifest", filepath.Join(cfg.Data, "pieces.json"), "--out", out,
				"--targets", c.target, "--links", "none", "--modes", "64KiB", "--concurrency", "2,", "--duration", "20s", "--warmup", "1s")
			run.Stdout, run.Stderr = &said, &said
			if err := run.Start(); err != nil {
				t.Fatal(err)
			}
			exited := make(chan error, 1)
			go func() { exited <- run.Wait() }()
			for clients := false; !clients; time.Sleep(50 * time.Millisecond) {
				select {
				case err := <-exited:
					t.Fatalf("the run ended before its first cell: %v\n%s", err, &said)
				default:
				}
				lines, _ := filepath.Glob(filepath.Join(out, "logs", "001-*.progress.jsonl"))
				if len(lines) > 0 {
					text, _ := os.ReadFile(lines[0])
					clients = len(text) > 0
				}
			}
			kill(t, serverPIDs(t, l), c.process)
			if err := <-exited; err == nil || !strings.Contains(said.String(), c.says) {
				t.Errorf("%v; want an error and %q:\n%s", err, c.says, &said)
			}
			pids := serverPIDs(t, l)
			if err := l.Down(); err != nil || l.Exists() {
				t.Errorf("down: %v; the lab is there: %v", err, l.Exists())
			}
			for pid := range strings.FieldsSeq(pids) {
				wantEnd(t, pid)
			}
			wantNoProcessOf(t, cfg)
		})
	}
}

// kill kills the first of the processes that has this name.
func kill(t *testing.T, pids, name string) {
	t.Helper()
	for pid := range strings.FieldsSeq(pids) {
		comm, _ := exec.Command("ps", "-o", "comm=", "-p", pid).Output()
		if strings.TrimSpace(string(comm)) == name {
			n, err := strconv.Atoi(pid)
			if err == nil {
				err = syscall.Kill(n, syscall.SIGKILL)
			}
			if err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no process %s", name)
}
