package main_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"piecebench/internal/testneeds"
	"piecebench/lab/labtest"
)

// runSweep runs a short sweep in a lab of its own: raw and gateway over one link, with
// 1MiB ranges and full pieces, for 1 and 4 clients. It returns the run's folder, and the
// URL of the lab's Prometheus, which has all of it. The lab goes when the test ends.
// Without root or Prometheus the test is skipped.
func runSweep(t *testing.T) (dir, prometheus string) {
	t.Helper()
	testneeds.Root(t)
	testneeds.Program(t, "prometheus")
	root := labtest.Install(t, "piece-gateway", "netem-agent", "piecebench", "k6")
	cfg := labtest.Config(t, root)
	cfg.Prometheus.Port = labtest.FreePort(t)
	l := labtest.New(t, "sweep")
	if err := l.Up(cfg, t.Output()); err != nil {
		t.Fatal(err)
	}
	state, err := l.State()
	if err != nil || !state.PrometheusRuns {
		t.Fatalf("the lab's Prometheus does not run: %+v, %v", state, err)
	}
	var out []byte
	labtest.Patiently(t, func(attempt int) string {
		dir = filepath.Join(t.TempDir(), fmt.Sprintf("sweep-%d", attempt))
		run := l.Command(filepath.Join(cfg.Bin, "piecebench"), "run", "--manifest", filepath.Join(cfg.Data, "pieces.json"), "--out", dir,
			"--links", "200mbit/20ms", "--modes", "1MiB,full", "--concurrency", "1,4", "--duration", "3s", "--warmup", "1s")
		out, err = run.CombinedOutput()
		return string(out)
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir, state.PrometheusURL
}
