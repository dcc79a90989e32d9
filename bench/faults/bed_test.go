package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"piecebench/bench/result"
	"piecebench/lab"
	"piecebench/lab/labtest"
	"piecebench/records"
)

// cells is how many a sweep has: one that no fault hits, one for each fault, and one
// that is left for the last RESUME.
var cells = 2 + len(Signals)*len(Moments)

// bed is a lab, and the sweep that runs in it again and again.
type bed struct {
	t    *testing.T
	lab  lab.Lab
	cfg  lab.Config
	dir  string   // the run's folder
	args []string // of piecebench run, without where the results go

	cmd    *exec.Cmd
	said   bytes.Buffer
	exited chan error
}

func newBed(t *testing.T, name string, prometheus bool, settings ...string) *bed {
	t.Helper()
	cfg := labtest.Config(t, labtest.Install(t, "piece-gateway", "netem-agent", "piecebench", "k6"))
	if prometheus {
		cfg.Prometheus.Port = labtest.FreePort(t)
	}
	return &bed{t: t, lab: labtest.New(t, name), cfg: cfg, dir: filepath.Join(t.TempDir(), "run"),
		args: append([]string{"run", "--manifest", filepath.Join(cfg.Data, "pieces.json"), "--links", link, "--modes", "64KiB", "--concurrency", "2,",
			"--duration", "1s", "--warmup", "600ms"}, settings...)}
}

// The link is one that a machine with four labs on it can do.
const (
	link     = "200mbit/5ms"
	linkBits = 200e6
)

// start brings the lab up anew and starts the sweep, or goes on with it.
func (b *bed) start() {
	b.t.Helper()
	if err := b.lab.Up(b.cfg, b.t.Output()); err != nil {
		b.t.Fatal(err)
	}
	args := b.args
	_, err := os.Stat(filepath.Join(b.dir, result.RunFile))
	resume := err == nil
	if !resume {
		args = append(slices.Clone(args), "--out", b.dir)
	}
	b.cmd = b.lab.Command(append([]string{filepath.Join(b.cfg.Bin, "piecebench")}, args...)...)
	if resume {
		b.cmd.Env = append(b.cmd.Env, "RESUME="+b.dir)
	}
	b.said.Reset()
	b.cmd.Stdout, b.cmd.Stderr = &b.said, &b.said
	if err := b.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.exited = make(chan error, 1)
	go func(cmd *exec.Cmd, exited chan error) { exited <- cmd.Wait(); close(exited) }(b.cmd, b.exited)
}

// patience bounds every wait: it is long because it only passes when something is wrong.
const patience = 2 * time.Minute

// await polls until done is true. It fails the test when the runner ends before.
func (b *bed) await(what string, done func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(2 * time.Millisecond) {
		select {
		case err := <-b.exited:
			b.t.Fatalf("the runner ended (%v) before %s:\n%s", err, what, b.said.String())
		default:
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("not within %s: %s\n%s", patience, what, b.said.String())
		}
	}
}

// awaitExit waits for the runner's end, or until done is true.
func (b *bed) awaitExit(done func() bool) (exited bool) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		select {
		case <-b.exited:
			return true
		default:
		}
		if done() {
			return false
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("the runner neither ends nor goes on:\n%s", b.said.String())
		}
	}
}

// progress returns the lines that the generator has written in a cell.
func (b *bed) progress(cell int) (lines []records.Progress) {
	names, _ := filepath.Glob(filepath.Join(b.dir, "logs", fmt.Sprintf("%03d-*.progress.jsonl", cell)))
	for _, name := range names {
		text, _ := os.ReadFile(name)
		for line := range bytes.Lines(text) {
			var p records.Progress
			if json.Unmarshal(line, &p) == nil {
				lines = append(lines, p)
			}
		}
	}
	return lines
}

// awaitMoment waits for a moment of a cell.
func (b *bed) awaitMoment(cell int, moment string) {
	b.t.Helper()
	b.await(fmt.Sprintf("the %s of cell %d", moment, cell), func() bool {
		if moment == StartUp {
			names, _ := filepath.Glob(filepath.Join(b.dir, "logs", fmt.Sprintf("%03d-*.k6.log", cell)))
			return len(names) > 0 && b.pids(K6) != nil
		}
		lines := b.progress(cell)
		if len(lines) == 0 {
			return false
		}
		now, last := time.Now().UnixNano(), lines[len(lines)-1]
		switch moment {
		case Window:
			return now > last.WindowStart
		case End:
			return now > last.WindowEnd
		}
		return true
	})
}

// pids returns the processes of a part.
func (b *bed) pids(part string) (pids []int) {
	if part == Runner {
		return []int{b.cmd.Process.Pid}
	}
	command := map[string]string{K6: "k6", Nginx: "nginx", Gateway: "piece-gateway", Agent: "netem-agent", Prometheus: "prometheus"}[part]
	for _, namespace := range []string{b.lab.ServerNamespace(), b.lab.ClientNamespace()} {
		out, _ := exec.Command("ip", "netns", "pids", namespace).Output() // none where there is no namespace
		for _, field := range strings.Fields(string(out)) {
			pid, _ := strconv.Atoi(field)
			comm, _ := os.ReadFile(filepath.Join("/proc", field, "comm"))
			if part == Lab || strings.TrimSpace(string(comm)) == command {
				pids = append(pids, pid)
			}
		}
	}
	slices.Sort(pids)
	return pids
}

// signal sends a signal to a part: SIGSTOP to all of its processes, others to the
// first, which for nginx is the master. At a cell's end k6 may have ended already.
func (b *bed) signal(part string, signal unix.Signal, moment string) (to []int) {
	b.t.Helper()
	to = b.pids(part)
	if len(to) == 0 {
		if part != K6 || moment != End {
			b.t.Fatalf("%s does not run", part)
		}
		return nil
	}
	if part != Lab && signal != unix.SIGSTOP {
		to = to[:1]
	}
	for _, pid := range to {
		if err := unix.Kill(pid, signal); err != nil && err != unix.ESRCH {
			b.t.Fatal(err)
		}
	}
	return to
}

// down takes the lab down and looks for what is left of it.
func (b *bed) down() {
	b.t.Helper()
	if err := b.lab.Down(); err != nil {
		b.t.Fatal(err)
	}
	if b.lab.Exists() {
		b.t.Error("a namespace is left")
	}
	procs, err := procfs.AllProcs()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, p := range procs {
		if exe, _ := p.Executable(); strings.HasPrefix(exe, filepath.Dir(b.cfg.Bin)+"/") {
			b.t.Errorf("process %d is left: %s", p.PID, exe)
		}
		argv, _ := p.CmdLine()
		if line := strings.Join(argv, " "); strings.Contains(line, b.lab.Dir()+"/") || strings.Contains(line, b.cfg.Data) {
			b.t.Errorf("process %d is left: %s", p.PID, line)
		}
	}
}

func (b *bed) load() *result.Run {
	b.t.Helper()
	run, err := result.Load(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	return run
}

// counted says whether a cell is among those that count.
func (b *bed) counted(cell int) bool {
	run, err := result.Load(b.dir)
	return err == nil && slices.ContainsFunc(run.Cells, func(c result.Cell) bool { return c.ID == cell })
}
