package faults

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/bench/result"
	"piecebench/internal/contained"
	"piecebench/internal/testneeds"
	"piecebench/internal/uml"
	"piecebench/records"
)

func TestMain(m *testing.M) {
	uml.Main(m)
	os.Exit(contained.Run(func() int {
		flag.Parse()
		// Most of a fault's time is waiting: two labs a CPU leave it half idle.
		flag.Set("test.parallel", "4")
		return m.Run()
	}))
}

// stopped is how long SIGSTOP lasts.
func stopped(moment string) time.Duration {
	if moment == Window {
		return 20 * time.Second
	}
	return 12 * time.Second
}

func TestFaultCampaign(t *testing.T) {
	testneeds.All(t, "it brings every fault into every part of a sweep, which takes long")
	testneeds.Root(t)
	testneeds.Program(t, "prometheus")
	before := host(t)
	t.Run("parts", func(t *testing.T) {
		for _, part := range Parts {
			t.Run(part, func(t *testing.T) {
				t.Parallel()
				campaign(t, part)
			})
		}
	})
	if after := host(t); after != before {
		t.Errorf("the host's network is\n%s\nand was\n%s", after, before)
	}
}

// host returns what a lab or a link agent could leave on the host.
func host(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, argv := range [][]string{{"ip", "rule"}, {"ip", "-o", "route", "show", "table", "all", "type", "unreachable"},
		{"sysctl", "net.ipv4.ip_early_demux", "net.ipv4.tcp_congestion_control", "net.core.rps_default_mask", "net.core.netdev_max_backlog"}} {
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v: %s", argv, err, out)
		}
		fmt.Fprintf(&all, "%s\n", out)
	}
	return all.String()
}

// campaign brings every signal into a part at every moment: each into a cell of its
// own, of one run that RESUME goes on with after each. Each RESUME measures the
// cell that the fault had hit, before it gets its own fault in the next.
func campaign(t *testing.T, part string) {
	name := strings.ToLower(strings.ReplaceAll(part, " ", ""))
	target := "raw"
	if part == Gateway {
		target = "gateway"
	}
	b := newBed(t, name, part == Prometheus || part == Lab, "--targets", target, "--repeat", fmt.Sprint(cells))
	whole := kept{}
	cell := 2 // the next to be hit
	b.start()
	for _, signal := range Signals {
		t.Run(unix.SignalName(signal), func(t *testing.T) {
			b.t = t
			for _, moment := range Moments {
				whole.hit(t, b, cell, part, signal, moment)
				cell++
			}
		})
		if b.t = t; t.Failed() {
			t.FailNow()
		}
	}
	select {
	case err := <-b.exited:
		if err != nil {
			t.Fatalf("the last RESUME: %v\n%s", err, b.said.String())
		}
	case <-time.After(patience):
		t.Fatalf("the last RESUME does not end:\n%s", b.said.String())
	}
	b.down()
	whole.check(t, b, "the end")
	if run := b.load(); len(run.Cells) != cells || run.Finished == nil {
		t.Errorf("%d of %d cells, finished %v", len(run.Cells), cells, run.Finished)
	}
}

// hit brings a signal into a part at a moment of a cell, looks at what comes of it,
// and goes on with the run.
func (k kept) hit(t *testing.T, b *bed, cell int, part string, signal unix.Signal, moment string) {
	t.Helper()
	b.awaitMoment(cell, moment)
	k.add(b) // what was finished before the fault
	to := b.signal(part, signal, moment)
	if signal == unix.SIGSTOP {
		time.Sleep(stopped(moment))
		for _, pid := range to {
			if err := unix.Kill(pid, unix.SIGCONT); err != nil && err != unix.ESRCH {
				t.Fatal(err)
			}
		}
	}
	if !b.awaitExit(func() bool { return b.counted(cell) }) {
		if err := b.cmd.Process.Signal(unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		b.awaitExit(func() bool { return false })
	}
	counted := b.counted(cell)
	t.Logf("%s, cell %d: counted %v; %s", moment, cell, counted, firstLine(b.said.String()))
	if want := Expected(part, signal, moment); want == Counted && !counted || want == Refused && counted {
		t.Errorf("%s: counted %v, want %s:\n%s", moment, counted, want, b.said.String())
	}
	b.down()
	k.check(t, b, moment)
	b.start()
}

// firstLine returns the first line that tells of an error.
func firstLine(said string) string {
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "piecebench:") {
			return strings.TrimSpace(line)
		}
	}
	return "no error"
}

// kept is what finished cells are on disk: by cell, the hash of its records and of
// its figures.
type kept map[int]string

func fingerprint(t *testing.T, dir string, c result.Cell) string {
	t.Helper()
	records, err := os.ReadFile(filepath.Join(dir, c.Records))
	if err != nil {
		t.Fatal(err)
	}
	figures, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x %x", sha256.Sum256(records), sha256.Sum256(figures))
}

func (k kept) add(b *bed) {
	b.t.Helper()
	for _, c := range b.load().Cells {
		if _, known := k[c.ID]; !known {
			k[c.ID] = fingerprint(b.t, b.dir, c)
		}
	}
}

// check holds every finished cell to what it was, and what counts as one to what it
// claims to be.
func (k kept) check(t *testing.T, b *bed, what string) {
	t.Helper()
	run := b.load()
	now := map[int]bool{}
	for _, c := range run.Cells {
		now[c.ID] = true
		if was, known := k[c.ID]; known && was != fingerprint(t, b.dir, c) {
			t.Errorf("%s: cell %d, which was finished, is another now", what, c.ID)
		}
		rows, err := records.Open(filepath.Join(b.dir, c.Records))
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for _, err := range rows.Rows() {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		ran := c.Evidence.Ran
		if n != ran.Requests || ran.Clients != 2 || ran.WindowS != 1 || c.RequestsFailed() > 0 {
			t.Errorf("%s: cell %d counts as whole: %d rows, %+v, %d ok, %d failed", what, c.ID, n, *ran, c.RequestsOK, c.RequestsFailed())
		}
		if c.GoodputBits() > 1.1*linkBits {
			t.Errorf("%s: cell %d got %.0f Mbit/s through a link of %.0f", what, c.ID, c.GoodputBits()/1e6, linkBits/1e6)
		}
	}
	for id := range k {
		if !now[id] {
			t.Errorf("%s: cell %d, which was finished, is gone", what, id)
		}
	}
	if len(run.Calibrations) != 1 || run.Generator == nil {
		t.Errorf("%s: the run has %d calibrations, generator %v", what, len(run.Calibrations), run.Generator)
	}
	// Records of a cell that does not count are out of the way, once a RESUME has begun
	// or the runner could still do it; a runner that was killed cannot.
	records, _ := filepath.Glob(filepath.Join(b.dir, "requests", "*.parquet"))
	if len(records) > len(run.Cells)+1 {
		t.Errorf("%s: %d records of %d cells", what, len(records), len(run.Cells))
	}
}
