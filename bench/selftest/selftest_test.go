// Package selftest holds bottlenecks against the truth: real sweeps through a real
// lab, in which it is known what limits each cell.
package selftest

import (
	"context"
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

	"piecebench/bench/bottleneck"
	"piecebench/bench/result"
	"piecebench/internal/contained"
	"piecebench/internal/testneeds"
	"piecebench/lab"
	"piecebench/lab/labtest"
)

// faultyName is the name under which this program is the faulty server.
const faultyName = "piece-gateway"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == faultyName {
		serveFaulty()
	}
	os.Exit(contained.Run(m.Run))
}

// The server that burns CPU, and the generator that starves, get as much of a
// CPU as any machine has to spare.
const (
	serverCPUs    = 0.25
	generatorCPUs = 0.2
)

// bed is a lab in which the faulty server stands in for the gateway.
type bed struct {
	lab.Lab
	cfg lab.Config
}

func newBed(t *testing.T) bed {
	t.Helper()
	testneeds.Root(t)
	root := labtest.Install(t, "netem-agent", "piecebench", "k6")
	cfg := labtest.Config(t, root)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// A copy: the lab runs it as another user.
	if out, err := exec.Command("install", self, filepath.Join(cfg.Bin, faultyName)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bed{labtest.New(t, "self"), cfg}
}

func (b bed) up(t *testing.T) {
	t.Helper()
	if err := b.Up(b.cfg, t.Output()); err != nil {
		t.Fatal(err)
	}
}

// sweep returns the command of a sweep in the lab, and its results' folder.
func (b bed) sweep(t *testing.T, settings ...string) (run *exec.Cmd, dir string) {
	dir = filepath.Join(t.TempDir(), "run")
	argv := append([]string{filepath.Join(b.cfg.Bin, "piecebench"), "run",
		"--manifest", filepath.Join(b.cfg.Data, "pieces.json"), "--out", dir, "--duration", "2s", "--warmup", "1s"}, settings...)
	return b.Command(argv...), dir
}

// serverPID returns the process of the faulty server.
func (b bed) serverPID(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("ip", "netns", "pids", b.ServerNamespace()).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range strings.Fields(string(out)) {
		if exe, _ := os.Readlink(filepath.Join("/proc", pid, "exe")); exe == filepath.Join(b.cfg.Bin, "piece-gateway") {
			return pid
		}
	}
	t.Fatal("the faulty server does not run")
	return ""
}

func move(t *testing.T, pid, procs string) {
	t.Helper()
	if err := os.WriteFile(procs, []byte(pid), 0); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, dir string) *result.Run {
	t.Helper()
	run, err := result.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestServersWithAKnownFault(t *testing.T) {
	b := newBed(t)
	procs := quota(t, "server", serverCPUs)
	b.up(t)
	t.Cleanup(func() { _ = b.Down() }) // before its quota goes
	machine := watchOthers(t, b.cfg.Bin, b.ServerNamespace(), b.ClientNamespace())
	move(t, b.serverPID(t), procs)

	targets := "raw"
	for _, fault := range []string{"stall", "throttle", "burn"} {
		targets += fmt.Sprintf(",%s=http://198.18.0.2:7777/%s/piece/{piece}", fault, fault)
	}
	var dir string
	var out []byte
	var err error
	labtest.Patiently(t, func(int) string {
		var run *exec.Cmd
		run, dir = b.sweep(t, "--targets", targets, "--links", "200mbit/20ms", "--modes", "64KiB", "--concurrency", "2,120")
		out, err = run.CombinedOutput()
		return string(out)
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	truth := map[string]string{
		"raw 2": bottleneck.Latency, "raw 120": bottleneck.Link,
		"stall 2": bottleneck.Latency, "stall 120": bottleneck.Server,
		"throttle 2": bottleneck.Server, "throttle 120": bottleneck.Server,
		"burn 2": bottleneck.ServerCPU, "burn 120": bottleneck.ServerCPU,
	}
	disturbed := 0
	results := load(t, dir)
	for _, c := range results.Cells {
		name := fmt.Sprint(c.Target, " ", c.Concurrency)
		t.Logf("%s: %s: %s", name, c.LimitedBy, c.Because)
		switch others := machine.share(c.WindowStart, c.WindowEnd()); {
		case c.LimitedBy == truth[name]:
		case machine.fill(c.WindowStart, c.WindowEnd()):
			t.Logf("%s: other work took %.0f %% of this machine", name, 100*others)
			disturbed++
			continue
		default:
			t.Errorf("%s: limited by %q, and the truth is %q; other work took %.0f %% of this machine (evidence %s)", name, c.LimitedBy, truth[name], 100*others, asJSON(c.Evidence))
		}
		delete(truth, name)
	}
	if len(truth) > disturbed {
		t.Errorf("no cell for %v", truth)
	}
	if g := results.Generator; g == nil || g.CeilingBits < results.Calibrations[0].CeilingBits || g.CeilingAfterBits == 0 || results.Calibrations[0].CeilingAfterBits == 0 {
		t.Errorf("ceilings: generator %+v, link %+v", g, results.Calibrations[0])
	}
	if disturbed > 0 {
		t.Skipf("SKIPPED: the bottlenecks of %d of %d cells are NOT tested: other work filled this machine, by the kernel's count", disturbed, len(results.Cells))
	}
}

// The first cell has a generator that starves; while the second runs, somebody
// changes the link behind the agent's back.
func TestAStarvedGeneratorAndALinkThatIsChanged(t *testing.T) {
	b := newBed(t)
	procs := quota(t, "generator", generatorCPUs)
	k6 := filepath.Join(b.cfg.Bin, "k6")
	if err := os.Rename(k6, k6+"-unlimited"); err != nil {
		t.Fatal(err)
	}
	// In the lab /sys is the namespace's own, so the group is reached through this process.
	script := fmt.Sprintf("#!/bin/sh\necho $$ > /proc/%d/root%s && exec %s-unlimited \"$@\"\n", os.Getpid(), procs, k6)
	if err := os.WriteFile(k6, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	b.up(t)
	machine := watchOthers(t, b.cfg.Bin, b.ServerNamespace(), b.ClientNamespace())
	run, dir, out, err := b.sweepChanged(t, b.changeRate, "--targets", "raw", "--links", "200mbit/5ms", "--modes", "1KiB", "--concurrency", "100,99")
	if run.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "after the cell the link was 100mbit/5ms, not 200mbit/5ms") {
		t.Errorf("a link that was changed during a cell: %v\n%s", err, out)
	}
	cells := load(t, dir).Cells
	if len(cells) != 1 {
		t.Fatalf("%d cells are kept, want the one before the change", len(cells))
	}
	t.Log(cells[0].LimitedBy, ": ", cells[0].Because, " ", asJSON(cells[0].Evidence))
	if cells[0].LimitedBy != bottleneck.Generator {
		if machine.fill(cells[0].WindowStart, cells[0].WindowEnd()) {
			t.Skip("SKIPPED: the bottleneck of a starved generator is NOT tested: other work filled this machine, by the kernel's count")
		}
		t.Errorf("a starved generator: limited by %q because %s (evidence %s)", cells[0].LimitedBy, cells[0].Because, asJSON(cells[0].Evidence))
	}
}

// sweepChanged carries out a sweep and calls change during its second cell.
func (b bed) sweepChanged(t *testing.T, change func() error, settings ...string) (run *exec.Cmd, dir string, out []byte, err error) {
	t.Helper()
	var changed error
	labtest.Patiently(t, func(int) string {
		run, dir = b.sweep(t, settings...)
		ctx, ended := context.WithCancel(t.Context())
		during := make(chan error, 1)
		go func() { during <- duringCell(ctx, 2, dir, change) }()
		out, err = run.CombinedOutput()
		ended()
		changed = <-during
		return string(out)
	})
	if changed != nil {
		t.Fatalf("%v\n%s", changed, out)
	}
	return run, dir, out, err
}

// duringCell calls change once a cell's k6 has begun.
func duringCell(run context.Context, number int, dir string, change func() error) error {
	pattern := filepath.Join(dir, "logs", fmt.Sprintf("%03d-*.progress.jsonl", number))
	for {
		if found, err := filepath.Glob(pattern); err != nil || len(found) > 0 {
			break
		}
		select {
		case <-run.Done():
			return fmt.Errorf("cell %d never began", number)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return change()
}

// changeRate halves the link's rate with tc.
func (b bed) changeRate() error {
	argv := slices.Concat([]string{"-n", b.ServerNamespace(), "qdisc", "replace", "dev", "shaped0", "root", "handle", "1:", "tbf"},
		[]string{"rate", "100mbit", "burst", strconv.Itoa(64 << 10), "limit", "500000"})
	if out, err := exec.Command("tc", argv...).CombinedOutput(); err != nil {
		return fmt.Errorf("tc: %w: %s", err, out)
	}
	return nil
}

// endLease has the agent restore its device, as when a runner falls silent.
func (b bed) endLease() error {
	script := `lease=$(curl -sSf $AGENT_URL/link | sed 's/.*"lease":"\([^"]*\)".*/\1/')
curl -sSf -X PUT -d "{\"lease\":\"$lease\",\"lease_s\":0}" $AGENT_URL/lease`
	if out, err := b.Command("sh", "-c", script).CombinedOutput(); err != nil {
		return fmt.Errorf("ending the lease: %w: %s", err, out)
	}
	return nil
}

// A runner that was stopped for longer than its lease comes back to a device
// without a link. What its clients got meanwhile is no cell.
func TestACellWhoseLinkWasRestoredIsRefused(t *testing.T) {
	b := newBed(t)
	b.up(t)
	run, dir, out, err := b.sweepChanged(t, b.endLease, "--targets", "raw", "--links", "200mbit/5ms", "--modes", "64KiB", "--concurrency", "4,3")
	if run.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "after the cell the link was none, not 200mbit/5ms") {
		t.Errorf("a link that was restored during a cell: %v\n%s", err, out)
	}
	if cells := load(t, dir).Cells; len(cells) != 1 {
		t.Errorf("%d cells are kept, want the one before", len(cells))
	}
}

func asJSON(e *result.Evidence) string {
	text, _ := json.Marshal(e)
	return string(text)
}
