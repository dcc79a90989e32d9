package labtest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"piecebench/internal/testneeds"
	"piecebench/lab"
)

// Sweep is a short sweep that has run in a lab of its own, whose Prometheus
// still runs and has all of it: raw and gateway over one link, with 1MiB ranges
// and full pieces, for 1 and 4 clients.
type Sweep struct {
	Dir        string // the run's folder
	Run        string // the run's id
	Prometheus string // base URL on this host
}

// RunSweep runs the sweep. The lab goes when the test ends. Without root or
// Prometheus the test is skipped.
func RunSweep(t *testing.T) Sweep {
	t.Helper()
	testneeds.Root(t)
	testneeds.Program(t, "prometheus")
	root := Install(t, "piece-gateway", "netem-agent", "piecebench", "k6")
	cfg := Config(t, root)
	cfg.Prometheus.Port = FreePort(t)
	l := New(t, "sweep")
	if err := l.Up(cfg, t.Output()); err != nil {
		t.Fatal(err)
	}
	state, err := l.State()
	if err != nil || !state.PrometheusRuns {
		t.Fatalf("the lab's Prometheus does not run: %+v, %v", state, err)
	}
	s := Sweep{Prometheus: state.PrometheusURL}
	var out []byte
	Patiently(t, func(attempt int) string {
		s.Run = fmt.Sprintf("sweep-%d", attempt)
		s.Dir = filepath.Join(t.TempDir(), s.Run)
		run := l.Command(filepath.Join(cfg.Bin, "piecebench"), "run", "--manifest", filepath.Join(cfg.Data, "pieces.json"), "--out", s.Dir,
			"--links", "200mbit/20ms", "--modes", "1MiB,full", "--concurrency", "1,4", "--duration", "3s", "--warmup", "1s")
		out, err = run.CombinedOutput()
		return string(out)
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return s
}

// Patiently calls sweep, which runs one and returns what it said, until its link
// is not refused, at most four times. A machine that other work keeps busy falls
// short of a good link now and then, which is not what the caller tests.
func Patiently(t *testing.T, sweep func(attempt int) (said string)) {
	t.Helper()
	const attempts = 4
	for attempt := 1; attempt <= attempts; attempt++ {
		said := sweep(attempt)
		_, reason, refused := strings.Cut(said, " refused: ")
		if !refused {
			return
		}
		t.Logf("attempt %d of %d: the link was refused: %s", attempt, attempts, reason)
	}
}

// New returns a lab with a name that no other test process uses, and removes it
// when the test ends.
func New(t *testing.T, suffix string) lab.Lab {
	t.Helper()
	l, err := lab.Named(fmt.Sprintf("t%d-%s", os.Getpid(), suffix))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(); err != nil {
			t.Error("taking the lab down:", err)
		}
		_ = os.RemoveAll(l.Dir())
	})
	return l
}

// Config returns the configuration of a lab from an installation, with a small
// dataset. Its Prometheus has a folder, but no port: it has to be asked for.
func Config(t *testing.T, root string) lab.Config {
	t.Helper()
	return lab.Config{
		Data: Dataset(t), Bin: filepath.Join(root, "bin"), Servers: filepath.Join(root, "servers"), Targets: "raw,gateway",
		Store: "unsealed", Backend: "auto",
		Prometheus: lab.Prometheus{Conf: filepath.Join(root, "dashboards", "prometheus.yml"), Data: filepath.Join(t.TempDir(), "prometheus")},
	}
}

// FreePort returns a TCP port of 127.0.0.1 that nothing listens on.
func FreePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
