package report_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piecebench/bench/result"
	"piecebench/records"
	"piecebench/report"
	"piecebench/report/export"
	"piecebench/report/markdown"
	"piecebench/report/text"
)

// cell is a cell with the figures that tests care about.
func cell(target, mode string, clients int, mbits float64) result.Cell {
	return result.Cell{Target: target, Link: "1gbit/40ms", Mode: mode, Concurrency: clients, Repetition: 1, WindowS: 10,
		RequestsOK: 100, Failed: map[records.Outcome]int{}, WindowBytes: int64(mbits * 1e6 / 8 * 10), CeilingBits: 1e9,
		TTFB:     result.Quantiles{P50: &result.Quantile{Ms: 80}, P95: &result.Quantile{Ms: 100}},
		Duration: result.Quantiles{P50: &result.Quantile{Ms: 1500}, P95: &result.Quantile{Ms: 12000, Bound: true}}}
}

func textOf(run *result.Run, width int) string { return text.Run(run, width) }

func markdownOf(run *result.Run) string { return markdown.Run(run) }

func runOf(cells ...result.Cell) *result.Run {
	for i := range cells {
		cells[i].ID = i + 1
	}
	finished := time.Date(2026, 3, 1, 18, 0, 0, 0, time.UTC)
	return &result.Run{Schema: 1, ID: "20260301T174500Z-test", Started: finished.Add(-time.Hour), Finished: &finished,
		Planned: len(cells), Cells: cells,
		Calibrations: []result.Calibration{{Link: "1gbit/40ms", Backend: "kernel", CeilingBits: 1e9, ExpectedBits: 1e9, IdleRTTMs: 40.1, AskedDelayMs: 40}}}
}

var spaces = regexp.MustCompile(` +`)

// wants compares with the padding of tables taken away.
func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	text = spaces.ReplaceAllString(text, " ")
	for _, part := range parts {
		if !strings.Contains(text, spaces.ReplaceAllString(part, " ")) {
			t.Errorf("lacks %q in:\n%s", part, text)
		}
	}
}

func TestHeadlineComparesWithTheBaseline(t *testing.T) {
	// raw ran second, and is the baseline all the same.
	run := runOf(
		cell("gateway", "full", 1, 900), cell("raw", "full", 1, 900),
		cell("gateway", "1MiB", 10, 100), cell("raw", "1MiB", 10, 400),
		cell("gateway", "1MiB", 100, 480), cell("raw", "1MiB", 100, 600),
	)
	slow := run.Cells[2]
	slow.TTFB.P95 = &result.Quantile{Ms: 730}
	run.Cells[2] = slow
	wants(t, markdownOf(run),
		"**gateway delivered 80 % of raw’s goodput in the median row and 25 % in the worst of 3 rows (1MiB, 10 clients, 1gbit/40ms: 100 against 400 Mbit/s).**",
		"gateway’s TTFB (95th percentile) was 1.00 times that of raw in the median row and 7.30 times in the worst of 3 rows (1MiB, 10 clients, 1gbit/40ms: 730 ms against 100 ms).",
		"90 % of the link’s measured ceiling, so that the link decided: raw in 1 of 3, gateway in 1 of 3.",
		"All 600 requests that ended succeeded; 0 were still running",
		"| 1MiB | 10 | raw | 400 (40 %) | |",
		"| 1MiB | 10 | gateway | 100 (10 %) | 0.25 | 80.0 ms | 730 ms |",
		"> 12.0 s")
}

func TestHeadlineOfOneTargetIsItsShareOfTheLink(t *testing.T) {
	run := runOf(cell("mine", "full", 1, 900), cell("mine", "full", 10, 500), cell("mine", "full", 100, 950))
	wants(t, textOf(run, 1000), "mine delivered 90 % of the link’s measured ceiling in the median row and 50 % in the worst of 3 rows (full, 10 clients, 1gbit/40ms: 500 Mbit/s).")
	for i := range run.Cells {
		run.Cells[i].CeilingBits = 0
	}
	wants(t, textOf(run, 1000), "mine delivered 900 Mbit/s in the median row, from 500 (full, 10 clients, 1gbit/40ms) to 950 (full, 100 clients, 1gbit/40ms).")
}

func TestEveryTargetIsComparedWithTheFirst(t *testing.T) {
	var cells []result.Cell
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		cells = append(cells, cell(name, "full", 10, 1000-100*float64(i)))
	}
	md := markdownOf(runOf(cells...))
	wants(t, md, "| ratio to a |", "| 1000 (100 %) | |", "| e | 600 (60 %) | 0.60 |", "e delivered 60 % of a’s goodput in the one row that shows it")
}

func TestMissingCellsAreShownAndNotCompared(t *testing.T) {
	run := runOf(cell("raw", "full", 1, 900), cell("gateway", "full", 1, 450), cell("raw", "full", 10, 900))
	run.Planned, run.Finished = 4, nil
	wants(t, markdownOf(run),
		"- **incomplete**: 3 of 4 planned cells are here. Run only what is missing with: make bench RESUME=results/20260301T174500Z-test",
		"| full | 10 | raw | 900 (90 %) | |",
		"delivered 50 % of raw’s goodput in the one row that shows it")

	apart := runOf(cell("raw", "full", 1, 900), cell("gateway", "full", 10, 450))
	wants(t, textOf(apart, 1000), "gateway and raw have no row in common")
	wants(t, textOf(runOf(), 1000), "No cell was measured.", "No cell of this link was measured.")
	wants(t, markdownOf(runOf()), "No cell of this link was measured.")
}

func TestCellsInWhichNothingEnded(t *testing.T) {
	raw, gateway := cell("raw", "full", 1000, 900), cell("gateway", "full", 1000, 0)
	raw.RequestsOK, raw.RequestsCut = 0, 1000
	gateway.RequestsOK, gateway.RequestsCut = 0, 1000
	gateway.TTFB, gateway.Duration = result.Quantiles{}, result.Quantiles{}
	raw.WarmupQuantiles = true
	md := markdownOf(runOf(raw, gateway))
	wants(t, md, "No request ended inside its window; 2000 were still running",
		"- **nothing ended**: In 2 of 2 cells no request ended", "gateway delivered 0 % of raw’s",
		"80.0 ms †", report.WarmupNote, "| gateway | 0 (0 %) | 0 | – |")
	// A baseline that delivered nothing gives no ratio.
	raw.WindowBytes = 0
	wants(t, textOf(runOf(raw, gateway), 1000), "no row in common that delivered anything")
}

func TestFailuresAreNamedWithTheirFirstError(t *testing.T) {
	bad := cell("gateway", "1MiB", 1000, 90)
	bad.RequestsOK, bad.Failed, bad.FirstErrors = 40, map[records.Outcome]int{"status": 50, "reset": 10}, []string{"status: 500 Internal Server Error"}
	wants(t, markdownOf(runOf(cell("raw", "1MiB", 1000, 900), bad)),
		"Requests that succeeded: raw 100 % (100 of 100; 95 % interval 96.3 % to 100 %), gateway 40.0 % (40 of 100; 95 % interval 30.9 % to 49.8 %)",
		"- **failures**: Requests failed in 1 of 2 cells: gateway, 1MiB, 1000 clients, 1gbit/40ms: 60 requests (status: 500 Internal Server Error).")

	limited := bad
	limited.FailedStatus, limited.FirstErrors = map[string]int{"429": 48, "503": 2}, []string{"reset: EOF"}
	wants(t, markdownOf(runOf(limited)), "60 requests (48 with status 429, 2 with status 503, reset: EOF).")

	var many []result.Cell
	for n := 1; n <= 20; n++ {
		c := bad
		c.Concurrency = n
		many = append(many, c)
	}
	wants(t, textOf(runOf(many...), 1000), "Requests failed in 20 of 20 cells", "; and 16 more")
}

func TestHostLimitedLinkIsFlaggedOnceWithItsFigures(t *testing.T) {
	run := runOf(cell("raw", "full", 1, 470), cell("gateway", "full", 1, 450))
	run.Calibrations[0].HostLimited, run.Calibrations[0].CeilingBits = true, 470e6
	run.Calibrations[0].Notes = []string{"host-limited: with 128 streams it carries 470.0 of 1000.0 Mbit/s"}
	md := markdownOf(run)
	wants(t, md, "- **host-limited**: 1gbit/40ms: this machine, not the link, sets the ceiling (470 Mbit/s where the link allows 1000).",
		"| host-limited: with 128 streams it carries 470.0 of 1000.0 Mbit/s |")
	if n := strings.Count(md, "with 128 streams it carries"); n != 1 {
		t.Errorf("the same evidence stands %d times", n)
	}
}

func TestRepetitionsArePutTogether(t *testing.T) {
	var cells []result.Cell
	for rep, mbits := range []float64{100, 200, 600} {
		c := cell("raw", "full", 1, mbits)
		c.Repetition, c.RequestsOK = rep+1, 10
		c.TTFB.P50 = &result.Quantile{Ms: []float64{50, 12000, 70}[rep], Bound: rep == 1}
		c.LimitedBy = []string{"link", "host", "link"}[rep]
		cells = append(cells, c)
	}
	md := markdownOf(runOf(cells...))
	wants(t, md, "| full | 1 | raw | 300 (30 %) | 70.0 ms |", "All 30 requests", "| link, host |")
}

const hostile = "<script>alert(1)</script>|`x`*_[a](b)@c\x1b[2J\ny https://h www.h #1 <!-- </details>"

func TestHostileNamesDoNothing(t *testing.T) {
	bad := cell(hostile, hostile, 1, 1)
	bad.Link = hostile
	bad.Failed, bad.FirstErrors, bad.LimitedBy = map[records.Outcome]int{records.Outcome(hostile): 1}, []string{hostile}, hostile
	run := runOf(cell("raw", "full", 1, 1), bad)
	run.ID, run.Settings, run.Fingerprint = hostile, map[string]string{hostile: hostile}, map[string]string{hostile: hostile}
	run.Calibrations[0].Link, run.Calibrations[0].Notes, run.Calibrations[0].Backend = hostile, []string{hostile}, hostile
	md := markdownOf(run)
	for _, active := range []string{"<script", "[a]", "@c", "\x1b", "`x`", "https://", "www.h", "#1"} {
		if strings.Contains(md, active) {
			t.Errorf("Markdown holds an active %q", active)
		}
	}
	columns := -1
	for _, line := range strings.Split(md, "\n") {
		if !strings.HasPrefix(line, "|") {
			columns = -1
			continue
		}
		n := len(regexp.MustCompile(`[^\\]\|`).FindAllString(line, -1))
		if columns >= 0 && n != columns {
			t.Errorf("a name adds a column: %q", line)
		}
		columns = n
	}
	if text := textOf(run, 1000); strings.Contains(text, "\x1b") || strings.Contains(text, "\ny") {
		t.Error("a name reaches the terminal unfiltered")
	}
}

func TestWriteIsDeterministicAndNeedsOnlyTheFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "first")
	run := synthetic(defaultSweep)
	writeRecords(t, dir, run, 300)
	if err := run.Save(dir); err != nil {
		t.Fatal(err)
	}
	var first [][]byte
	for n := range 3 {
		moved := filepath.Join(t.TempDir(), strconv.Itoa(n))
		if err := os.Rename(dir, moved); err != nil {
			t.Fatal(err)
		}
		dir = moved
		if err := export.Write(dir); err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"report.html", "report.md"} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if len(first) <= i {
				first = append(first, data)
			} else if string(first[i]) != string(data) {
				t.Errorf("%s differs when it is made again", name)
			}
		}
	}
	if export.Write(t.TempDir()) == nil {
		t.Error("a folder without a run has a report")
	}
}

func TestRatioOfRepetitionsHasItsInterval(t *testing.T) {
	var cells []result.Cell
	for rep, mbits := range []float64{880, 900, 910, 890, 920} {
		raw, gateway := cell("raw", "full", 1, mbits), cell("gateway", "full", 1, mbits*[]float64{0.5, 0.51, 0.49, 0.5, 0.5}[rep])
		noisy := cell("gateway", "1MiB", 1, mbits*[]float64{0.8, 1.1, 1, 0.9, 1.2}[rep])
		steady := cell("raw", "1MiB", 1, mbits)
		for _, c := range []result.Cell{raw, gateway, steady, noisy} {
			c.Repetition = rep + 1
			cells = append(cells, c)
		}
	}
	md := markdownOf(runOf(cells...))
	wants(t, md, "| 0.50 (0.49 to 0.51) |",
		"- **noise**: In 1 comparison the noise between repetitions is larger than the difference to raw and could hide one of more than 5 %: gateway, 1MiB, 1 client, 1gbit/40ms (up to ")
}

// The committed report is what its run says: it has every figure of the sample.
func TestTheSamplesFiguresAreTheSame(t *testing.T) {
	want, err := os.ReadFile("../results/sample/report.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), markdownOf(loaded(t, "../results/sample"))); diff != "" {
		t.Errorf("piecebench report --format md results/sample would change report.md:\n%s", diff)
	}
}
