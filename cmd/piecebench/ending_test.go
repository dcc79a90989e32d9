package main_test

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
	"piecebench/lab"
)

// startedBench is a bench whose sweep has begun.
type startedBench struct {
	*exec.Cmd
	lab    lab.Lab
	said   *bytes.Buffer
	exited chan struct{}
}

func (p program) startBench(name string) startedBench {
	p.t.Helper()
	l, err := lab.Named(name)
	if err != nil {
		p.t.Fatal(err)
	}
	b := startedBench{p.command(shortSweep(p.t, name)...), l, new(bytes.Buffer), make(chan struct{})}
	log, err := os.Create(filepath.Join(p.t.TempDir(), "log"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	b.Stdout, b.Stderr = log, log
	b.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := b.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		_ = b.Wait()
		text, _ := os.ReadFile(log.Name())
		b.said.Write(text)
		close(b.exited)
	}()
	p.t.Cleanup(func() {
		_ = b.Process.Kill()
		<-b.exited
		if err := l.Down(); err != nil {
			p.t.Error(err)
		}
	})
	p.await("the run's folder", func() bool {
		found, _ := filepath.Glob(filepath.Join(p.dir, "results", "*", "run.json"))
		return len(found) > 0
	})
	return b
}

// await waits until what is named is there.
func (p program) await(what string, there func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !there(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatal("there is never ", what)
		}
	}
}

func TestEverySignalEndsABenchInOrder(t *testing.T) {
	testneeds.Root(t)
	p := newProgram(t, "piece-gateway", "netem-agent", "k6")
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(signal.String(), func(t *testing.T) {
			p := program{t, p.install, t.TempDir()}
			b := p.startBench("ending")
			whom := b.Process.Pid
			if signal == syscall.SIGHUP {
				whom = -whom // a terminal that closes tells all of its processes
			}
			if err := syscall.Kill(whom, signal); err != nil {
				t.Fatal(err)
			}
			<-b.exited
			if code := b.ProcessState.ExitCode(); code != 1 || !strings.Contains(b.said.String(), "interrupted before ") {
				t.Errorf("exit code %d, said:\n%s", code, b.said)
			}
			if left := labsLeft(t, "ending"); left != nil {
				t.Errorf("left behind: %v", left)
			}
			if left, _ := os.ReadDir(filepath.Join(p.dir, "results")); len(left) > 1 { // .prometheus
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestASweepEndsWithItsBenchThatIsKilled(t *testing.T) {
	testneeds.Root(t)
	p := newProgram(t, "piece-gateway", "netem-agent", "k6")
	b := p.startBench("killed")
	// What runs in the lab under the bench's own name: the sweep, and the forwarder.
	sweeps := func() (pids []int) {
		out, _ := exec.Command("ip", "netns", "pids", b.lab.ClientNamespace()).Output()
		for _, field := range strings.Fields(string(out)) {
			command, _ := os.ReadFile(filepath.Join("/proc", field, "cmdline"))
			if pid, err := strconv.Atoi(field); err == nil && bytes.Contains(command, []byte("piecebench\x00sweep\x00")) {
				pids = append(pids, pid)
			}
		}
		return pids
	}
	if len(sweeps()) != 1 {
		t.Fatalf("processes of the sweep: %v", sweeps())
	}
	if err := b.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-b.exited
	p.await("the sweep's end", func() bool { return len(sweeps()) == 0 })
}

func TestALabThatIsInterruptedWhileItComesUpIsRemoved(t *testing.T) {
	testneeds.Root(t)
	p := newProgram(t, "piece-gateway", "netem-agent")
	data := filepath.Dir(manifest(t))
	l, err := lab.Named("halfway")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(); err != nil {
			t.Error(err)
		}
	})
	cmd := p.command("lab", "up", "--name", l.Name, "--data", data, "--prometheus-port", "0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.await("a namespace of the lab", l.Exists)
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if left := labsLeft(t, l.Name); left != nil {
		t.Errorf("left behind: %v", left)
	}
}
