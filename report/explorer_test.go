package report

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"piecebench/bench/result"
)

func TestTheExplorerBeginsWhereATargetFallsBehindTheMost(t *testing.T) {
	v := newView(runOf(
		cell("raw", "1MiB", 10, 400), cell("gateway", "1MiB", 10, 390),
		cell("raw", "1MiB", 100, 600), cell("gateway", "1MiB", 100, 100),
		cell("raw", "full", 10, 600), cell("gateway", "full", 10, 500)))
	e := v.explorer()
	if got := e.Cells[e.First].Name; got != "1MiB, 100 clients, 1gbit/40ms" {
		t.Errorf("it begins with %s", got)
	}
}

func TestTheExplorerSaysThatThereAreNoRecords(t *testing.T) {
	v := newView(runOf(cell("raw", "full", 1, 100)))
	v.readDetails(t.TempDir())
	c := v.explorer().Cells[0]
	if !strings.Contains(c.Note, "not in this run’s folder") || c.Samples[0][0].TTFB != nil {
		t.Errorf("%+v", c)
	}
	wants(t, htmlOf(t, runOf(cell("raw", "full", 1, 100))), "No records of requests that ended well are in the run’s folder.")
}

// Nothing ended, which is not the same as nothing recorded.
func TestACellOfCutRequestsHasACurveWithoutSteps(t *testing.T) {
	run := runOf(cell("raw", "full", 1, 100))
	run.Cells[0].Duration.P50.Ms = 1e6
	dir := t.TempDir()
	writeRecords(t, dir, run, 20)
	v := newView(run)
	v.readDetails(dir)
	s := v.explorer().Cells[0].Samples[0][0]
	if s.Duration == nil || len(s.Duration.Steps) != 0 || s.Duration.End < 2000 || len(s.TTFB.Steps) == 0 {
		t.Errorf("duration %+v, TTFB %+v", s.Duration, s.TTFB)
	}
}

func TestTheExplorerHasEachRepetitionAndAllTogether(t *testing.T) {
	s := defaultSweep
	s.repeat = 3
	run := synthetic(s)
	dir := t.TempDir()
	writeRecords(t, dir, run, 50)
	v := newView(run)
	v.readDetails(dir)
	c := v.explorer().Cells[0]
	if len(c.Repetitions) != 3 || len(c.Samples) != 2 || len(c.Samples[1]) != 4 {
		t.Fatalf("%v, %d targets, %d samples", c.Repetitions, len(c.Samples), len(c.Samples[1]))
	}
	together := c.Samples[1][0]
	if together.Goodput != nil || len(together.Duration.Steps) <= len(c.Samples[1][1].Duration.Steps) {
		t.Errorf("%d steps together, %d of the first", len(together.Duration.Steps), len(c.Samples[1][1].Duration.Steps))
	}
	requests := slices.Index(v.explorer().Labels, "requests")
	if c.Samples[1][2].Facts[requests] == together.Facts[requests] {
		t.Errorf("the second repetition had %s, as all together", together.Facts[requests])
	}
	for _, one := range c.Samples[1][1:] {
		if n := len(one.Goodput); n != 12 {
			t.Errorf("%d points of goodput over time", n)
		}
	}
}

func TestVerdictsAreCountedByTarget(t *testing.T) {
	full, slow, odd := cell("raw", "full", 1, 900), cell("raw", "full", 10, 100), cell("raw", "full", 100, 100)
	full.LimitedBy, slow.LimitedBy = "link", "server"
	l := newView(runOf(odd, slow, full)).limited()
	data, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"Target":"raw","Parts":[{"Name":"link","Class":"path","N":1},{"Name":"server","Class":"servers","N":1},{"Name":"not known","Class":"unknown","N":1}]}]`; string(data) != want {
		t.Errorf("%s, want %s", data, want)
	}
}

func TestALongCellsGoodputOverTimeIsAveraged(t *testing.T) {
	c := cell("raw", "full", 1, 1)
	c.WindowS = 600
	for s := range 600 {
		c.Series = append(c.Series, result.SeriesPoint{T: float64(s + 1), DeliveredBits: float64(s%2) * 2e6})
	}
	c.Series = append(c.Series, result.SeriesPoint{T: 600.1, DeliveredBits: 9e9}) // after the window
	got := goodputSeries(c)
	if len(got) != 120 || got[119][0] != 600 || got[0][1] < 0.7 || got[0][1] > 1.3 {
		t.Errorf("%d points, first %v, last %v", len(got), got[0], got[len(got)-1])
	}
}
