package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"piecebench/bench/result"
	"piecebench/records"
	"piecebench/report/markdown"
	"piecebench/report/page"
)

// withJobs gives a cell jobs of so many milliseconds, of which most are downloading.
func withJobs(c result.Cell, ms float64) result.Cell {
	at := func(factor float64) *result.Quantile { return &result.Quantile{Ms: ms * factor} }
	c.Jobs = &result.Jobs{OK: 40, Cut: int64(c.Concurrency), Started: 40 + int64(c.Concurrency), Requests: 100,
		Duration: result.JobQuantiles{P50: at(1), P90: at(2), P99: at(3), P100: &result.Quantile{Ms: 4 * ms, Bound: true}},
		Stages:   []result.Stage{{Name: "download", Share: 0.6, MeanMs: 0.6 * ms}, {Name: "verify", Share: 0.35, MeanMs: 0.35 * ms}},
		Other:    0.1, Overlap: 0.05}
	fairness := 0.87
	c.Fairness = &fairness
	return c
}

// runOfJobs is of two targets and two modes.
func runOfJobs() *result.Run {
	run := runOf(
		withJobs(cell("raw", "10", 10, 400), 100), withJobs(cell("gateway", "10", 10, 390), 110),
		withJobs(cell("raw", "1000", 10, 600), 10_000), withJobs(cell("gateway", "1000", 10, 300), 20_000))
	run.Settings = map[string]string{"WORKLOAD": "mine.js"}
	return run
}

// writeJobs writes the records of jobs that the cells' figures are of.
func writeJobs(t *testing.T, dir string, run *result.Run) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, "jobs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range run.Cells {
		c := &run.Cells[i]
		c.Jobs.Records = fmt.Sprintf("jobs/%03d.parquet", c.ID)
		w, err := records.CreateJobs(filepath.Join(dir, c.Jobs.Records))
		if err != nil {
			t.Fatal(err)
		}
		for n := range 40 {
			w.Add(&records.Job{StartUnixNs: 1e18, DurationNs: int64(c.Jobs.Duration.P50.Ms*1e6) * int64(n+1) / 20, Outcome: records.OK})
		}
		if err := w.Close(records.Window{StartNs: 1e18, EndNs: 1e18 + 100e9}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAReportOfJobsComparesTheirTimes(t *testing.T) {
	run := runOfJobs()
	text := textOf(run, 200)
	wants(t, text, "gateway’s median job took 1.55 times as long as raw’s in the median row and 2.00 times in the worst of 2 rows (1000, 10 clients, 1gbit/40ms: 20.0 s against 10.0 s).",
		"All 160 jobs that ended succeeded; 40 were still running when their window closed (cut).",
		"raw job p50  gateway job p50  gateway / raw", "100 ms", "20.0 s", "2.00")
	if strings.Contains(text, "of raw’s goodput") {
		t.Error("the headline compares goodput")
	}
	wants(t, markdown.Run(run), "**gateway’s median job took", "requests a job", "> 80.0 s", "download 60 %, verify 35 %, other 10 %; overlap 5 %", "| fairness |", "0.87", "- **job time**", "- **fairness**")
}

func TestJobsThatFailAreTold(t *testing.T) {
	run := runOfJobs()
	run.Cells[3].Jobs.Failed = 40
	run.Cells[3].Jobs.FirstErrors = []string{"verify: block 3 differs"}
	wants(t, textOf(run, 200), "Jobs that succeeded: raw 100 % (80 of 80), gateway 66.7 % (80 of 120)")
	run.Cells = run.Cells[2:3]
	wants(t, textOf(run, 200), "raw’s median job took 10.0 s (1000, 10 clients, 1gbit/40ms).")
	run.Cells[0].Jobs.Duration = result.JobQuantiles{}
	wants(t, textOf(run, 200), "No job of raw ended.")
}

func TestThePageOfJobsHasTheirChartsAndCurves(t *testing.T) {
	needLibrary(t)
	dir := t.TempDir()
	run := runOfJobs()
	writeRecords(t, dir, run, 100)
	writeJobs(t, dir, run)
	html, err := page.Run(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, ours(t, string(html)), "Job time p50, gateway / raw", "<span>Job time</span>", "<span>Stages</span>", "<h3>Jobs</h3>", "time of jobs", "plot-job")
	e := exploredOf(t, dir, run)
	for i, c := range e.Rows {
		for target, samples := range c.Samples {
			job := samples[0].Job
			if job == nil || len(job.Steps) != 40 || job.Steps[19][0] != run.Cells[2*i+target].Jobs.Duration.P50.Ms || job.Steps[19][1] != 0.5 {
				t.Errorf("%s: the curve of job times is %+v", c.Name, job)
			}
		}
	}
	if e.Rows[e.First].Name != "1000, 10 clients, 1gbit/40ms" {
		t.Errorf("the explorer begins with %s", e.Rows[e.First].Name)
	}
}

// Such as batches of 10 and 1000 blocks: what larger ones save is one line.
func TestModesThatAreNumbersAreOneChart(t *testing.T) {
	needLibrary(t)
	html := func(modes ...string) string {
		var cells []result.Cell
		for i, mode := range modes {
			cells = append(cells, withJobs(cell("raw", mode, 10, 400), float64(100*(i+1))))
		}
		text, err := page.Run(t.TempDir(), runOf(cells...))
		if err != nil {
			t.Fatal(err)
		}
		return ours(t, string(text))
	}
	wants(t, html("1000", "10"), "Quantiles of job time against the modes, 1gbit/40ms", `"across":true`)
	if strings.Contains(html("10", "files"), "against the modes") {
		t.Error("a mode that is no number is on an axis of numbers")
	}
}

func TestALinkThatWasMeasuredAndHasNoCellsHasAPage(t *testing.T) {
	needLibrary(t)
	run := runOf()
	run.Calibrations = []result.Calibration{{Link: "1gbit/40ms", CeilingBits: 956e6}}
	if _, err := page.Run(t.TempDir(), run); err != nil {
		t.Error(err)
	}
}

func TestAReportWithoutJobsSaysNothingOfThem(t *testing.T) {
	run := loaded(t, "testdata/sweep")
	html, err := page.Run(t.TempDir(), run)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{textOf(run, 120), markdown.Run(run)} {
		if strings.Contains(text, "job") {
			t.Errorf("jobs in:\n%s", text)
		}
	}
	for _, part := range []string{"<span>Stages</span>", "<h3>Jobs</h3>", "Job time p50"} {
		if strings.Contains(string(html), part) {
			t.Errorf("the page has %s", part)
		}
	}
}
