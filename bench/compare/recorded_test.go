package compare

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"piecebench/bench/result"
)

// recorded reads one of the runs in bench/result/testdata: raw, again (the same
// server under a second name) and gateway, five repetitions.
func recorded(t *testing.T, name string) *result.Run {
	t.Helper()
	run, err := result.Load("../result/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func targetsOf(t *testing.T, run *result.Run, a, b string) *Comparison {
	t.Helper()
	c, err := Runs(run, run, []string{a, b})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRecordedRunsCompareAsWithScipy(t *testing.T) {
	data, err := os.ReadFile("testdata/reference.json") // reference.py made it
	if err != nil {
		t.Fatal(err)
	}
	var reference struct {
		Comparisons []struct {
			Run, Mode, Target, Metric string
			Concurrency               int
			Ratio, Low, High, P       float64
		}
	}
	if err := json.Unmarshal(data, &reference); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, want := range reference.Comparisons {
		for _, cell := range targetsOf(t, recorded(t, want.Run), "raw", want.Target).Rows {
			for _, e := range cell.Estimates {
				if cell.Mode != want.Mode || cell.Concurrency != want.Concurrency || e.Metric.Name != want.Metric {
					continue
				}
				checked++
				near := func(got, want float64) bool { return math.Abs(got/want-1) < 1e-9 }
				if !near(1+e.Change, want.Ratio) || !near(1+e.Low, want.Low) || !near(1+e.High, want.High) || e.Repetitions != 5 {
					t.Errorf("%s of %s: %+v, want %+v", e.Metric.Name, cell.Place, e, want)
				}
				if differs := e.Verdict(DefaultMargin) == Better || e.Verdict(DefaultMargin) == Worse; differs != (want.P < 1-Confidence) {
					t.Errorf("%s of %s: %s, where p = %v", e.Metric.Name, cell.Place, e.Verdict(DefaultMargin), want.P)
				}
			}
		}
	}
	if checked != len(reference.Comparisons) || checked == 0 {
		t.Errorf("%d of %d reference values were compared", checked, len(reference.Comparisons))
	}
}

// One server under two names: nothing may look like a regression.
func TestARecordedServerIsNoRegressionOfItself(t *testing.T) {
	for _, name := range []string{"identical-1gbit", "identical-10gbit"} {
		found, err := targetsOf(t, recorded(t, name), "raw", "again").Regressions(0.05)
		if err != nil || len(found) > 0 {
			t.Errorf("%s: %v, %+v", name, err, found)
		}
	}
}

func TestRecordedGatewayTakesMoreCPU(t *testing.T) {
	found, err := targetsOf(t, recorded(t, "identical-10gbit"), "raw", "gateway").Regressions(0.5)
	if err != nil || len(found) != 2 || found[0].Metric.Name != "server CPU" {
		t.Errorf("%v, %+v; want server CPU in both cells", err, found)
	}
}
