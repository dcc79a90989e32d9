package dashboards_test

import (
	"os"
	"strings"
	"testing"

	"piecebench/dashboards"
	"piecebench/internal/contained"
	"piecebench/lab/labtest"
)

func TestMain(m *testing.M) { os.Exit(contained.Run(m.Run)) }

func TestEveryQueryReturnsData(t *testing.T) {
	sweep := labtest.RunSweep(t)
	if err := dashboards.Check(t.Context(), sweep.Prometheus, sweep.Run); err != nil {
		t.Error(err)
	}
	if err := dashboards.Check(t.Context(), sweep.Prometheus, "another"); err == nil || !strings.Contains(err.Error(), "no finished cell of run another") {
		t.Errorf("the check of a run that Prometheus does not have says %v", err)
	}
}
