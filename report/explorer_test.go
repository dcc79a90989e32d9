package report_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"piecebench/bench/result"
	"piecebench/report"
	"piecebench/report/page"
)

// explored is the explorer's data in the page of a run in dir.
type explored struct {
	Labels []string
	First  int
	Rows   []struct {
		Name, Note  string
		Repetitions []int
		Samples     [][]struct {
			Facts               []string
			TTFB, Duration, Job *struct {
				Steps [][2]float64
				End   float64
			}
			Goodput [][2]float64
		}
	}
}

func exploredOf(t *testing.T, dir string, run *result.Run) (e explored) {
	t.Helper()
	html, err := page.Run(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	_, data, found := strings.Cut(ours(t, string(html)), "const explored = ")
	if !found {
		t.Skip("SKIPPED, NOT tested: this build has no ECharts, so its pages have no explorer")
	}
	if err := json.NewDecoder(strings.NewReader(data)).Decode(&e); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestTheExplorerBeginsWhereATargetFallsBehindTheMost(t *testing.T) {
	e := exploredOf(t, t.TempDir(), runOf(
		cell("raw", "1MiB", 10, 400), cell("gateway", "1MiB", 10, 390),
		cell("raw", "1MiB", 100, 600), cell("gateway", "1MiB", 100, 100),
		cell("raw", "full", 10, 600), cell("gateway", "full", 10, 500)))
	if got := e.Rows[e.First].Name; got != "1MiB, 100 clients, 1gbit/40ms" {
		t.Errorf("it begins with %s", got)
	}
}

func TestTheExplorerSaysThatThereAreNoRecords(t *testing.T) {
	c := exploredOf(t, t.TempDir(), runOf(cell("raw", "full", 1, 100))).Rows[0]
	if !strings.Contains(c.Note, "not in this run’s folder") || c.Samples[0][0].TTFB != nil {
		t.Errorf("%+v", c)
	}
	wants(t, htmlOf(t, runOf(cell("raw", "full", 1, 100))), "No records of ok requests are in the run’s folder.")
}

// Nothing ended, which is not the same as nothing recorded.
func TestARowOfCutRequestsHasACurveWithoutSteps(t *testing.T) {
	run := runOf(cell("raw", "full", 1, 100))
	run.Cells[0].Duration.P50.Ms = 1e6
	dir := t.TempDir()
	writeRecords(t, dir, run, 20)
	s := exploredOf(t, dir, run).Rows[0].Samples[0][0]
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
	e := exploredOf(t, dir, run)
	c := e.Rows[0]
	if len(c.Repetitions) != 3 || len(c.Samples) != 2 || len(c.Samples[1]) != 4 {
		t.Fatalf("%v, %d targets, %d samples", c.Repetitions, len(c.Samples), len(c.Samples[1]))
	}
	together := c.Samples[1][0]
	if together.Goodput != nil || len(together.Duration.Steps) <= len(c.Samples[1][1].Duration.Steps) {
		t.Errorf("%d steps together, %d of the first", len(together.Duration.Steps), len(c.Samples[1][1].Duration.Steps))
	}
	requests := slices.Index(e.Labels, "requests")
	if c.Samples[1][2].Facts[requests] == together.Facts[requests] {
		t.Errorf("the second repetition had %s, as all together", together.Facts[requests])
	}
	for _, one := range c.Samples[1][1:] {
		if n := len(one.Goodput); n != 12 {
			t.Errorf("%d points of goodput over time", n)
		}
	}
}

func TestBottlenecksAreCountedByTarget(t *testing.T) {
	full, slow, odd := cell("raw", "full", 1, 900), cell("raw", "full", 10, 100), cell("raw", "full", 100, 100)
	full.LimitedBy, slow.LimitedBy = "link", "server"
	l := report.NewView(runOf(odd, slow, full)).Limited()
	data, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"Target":"raw","Parts":[{"Name":"link","Class":"path","N":1},{"Name":"server","Class":"servers","N":1},{"Name":"not known","Class":"unknown","N":1}]}]`; string(data) != want {
		t.Errorf("%s, want %s", data, want)
	}
}
