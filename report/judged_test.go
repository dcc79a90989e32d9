package report_test

import (
	"strings"
	"testing"

	"piecebench/bench/bottleneck"
	"piecebench/bench/result"
	"piecebench/records"
	"piecebench/report"
	"piecebench/report/comparison"
	"piecebench/report/text"
)

const machineNote = report.MachineMark + " This machine limited one of the two"

func limited(c result.Cell, by string) result.Cell {
	c.LimitedBy = by
	return c
}

func late(c result.Cell) result.Cell {
	c.Evidence = &result.Evidence{Emulator: &result.Emulator{Late: 0.97}}
	return c
}

func withTTFB(c result.Cell, ms float64, bound bool) result.Cell {
	c.TTFB.P95 = &result.Quantile{Ms: ms, Bound: bound}
	return c
}

// "Worst of 32" was once a cell of a full machine: 0.85 in one run, 0.97 in another.
func TestRowsThatTheMachineDecidedAreLeftOutAndCounted(t *testing.T) {
	run := runOf(
		cell("raw", "full", 1, 900), cell("gateway", "full", 1, 890),
		cell("raw", "full", 10, 800), cell("gateway", "full", 10, 760),
		limited(cell("raw", "1MiB", 1000, 900), bottleneck.Host), withTTFB(cell("gateway", "1MiB", 1000, 450), 9000, false),
		cell("raw", "10MiB", 1000, 900), limited(cell("gateway", "10MiB", 1000, 300), bottleneck.Generator),
		cell("raw", "100MiB", 1000, 900), withTTFB(late(cell("gateway", "100MiB", 1000, 880)), 500, false),
	)
	want := []string{
		"gateway delivered 98 % of raw’s goodput in the median row and 95 % in the worst of 3 rows (full, 10 clients, 1gbit/40ms: 760 against 800 Mbit/s); 2 rows that this machine limited are left out.",
		"gateway’s TTFB (95th percentile) was 1.00 times that of raw in the median row and 1.00 times in the worst of 2 rows",
		"; 3 rows that this machine limited, or in which the emulated delay was late, are left out.",
		"The generator, the host or the emulated link limited 2 of 10 cells: raw, 1MiB, 1000 clients, 1gbit/40ms (host); gateway, 10MiB, 1000 clients, 1gbit/40ms (generator)",
	}
	wants(t, textOf(run, 1000), append(want, "0.50 ‡", "0.33 ‡", machineNote)...)
	wants(t, markdownOf(run), append(want, "| 0.50 ‡ |", machineNote)...)
	wants(t, htmlOf(t, run), append(want, `<td class="machine right">0.50 ‡</td>`, machineNote, "Framed, in grey: this machine limited one of the two, so", "or the emulated delay was late, so they do not")...)

	v := report.NewView(run)
	for _, m := range v.Heatmaps()[0].Maps {
		grey := 0
		for _, l := range m.Lines {
			for _, f := range l.Fields {
				if f.Class == report.MachineClass {
					grey++
				}
			}
		}
		if want := map[bool]int{true: 2, false: 3}[strings.HasPrefix(m.Title, "Goodput")]; grey != want {
			t.Errorf("%s: %d rows are grey, want %d", m.Title, grey, want)
		}
	}
	if shown := v.Worst().String(); shown != "full, 10 clients, 1gbit/40ms" {
		t.Errorf("the page first shows %s, which the machine decided", shown)
	}

	all := runOf(limited(cell("raw", "full", 1, 900), bottleneck.Emulator), cell("gateway", "full", 1, 100))
	wants(t, textOf(all, 1000), "This machine limited the one row of gateway and raw, so they do not show how the two differ.", "TTFB is not compared: this machine limited the one row")
	one := runOf(limited(cell("mine", "full", 1, 900), bottleneck.Host), cell("mine", "full", 10, 500))
	wants(t, textOf(one, 1000), "mine delivered 50 % of the link’s measured ceiling (full, 10 clients, 1gbit/40ms: 500 Mbit/s); 1 row that this machine limited is left out.")
	one.Cells[1].LimitedBy = bottleneck.Host
	wants(t, textOf(one, 1000), "mine delivered 70 % of the link’s measured ceiling in the median row", "; this machine limited all 2 rows, so the figures show the machine more than mine.")
}

// A generator that spins on the errors of a dead server does not excuse it.
func TestARowInWhichOneSideFailsIsAFinding(t *testing.T) {
	dead := limited(cell("gateway", "full", 10, 0), bottleneck.Generator)
	dead.RequestsOK, dead.Failed, dead.TTFB = 0, map[records.Outcome]int{"connect": 5000}, result.Quantiles{}
	rows := func(dead result.Cell) *result.Run {
		other := cell("raw", "full", 10, 900)
		if dead.Target == "raw" {
			other.Target = "gateway"
		}
		return runOf(cell("raw", "full", 1, 900), cell("gateway", "full", 1, 900), dead, other)
	}
	wants(t, textOf(rows(dead), 1000),
		"Requests that failed: raw none, gateway 98.0 % (5000 of 5100). gateway delivered 50 % of raw’s goodput in the median row and 0 % in the worst of 2 rows (full, 10 clients, 1gbit/40ms: 0 against 900 Mbit/s).")
	dead.Target = "raw"
	wants(t, textOf(rows(dead), 1000), "Requests that failed: raw 98.0 % (5000 of 5100), gateway none.",
		"raw delivered nothing in 1 row in which gateway did, such as full, 10 clients, 1gbit/40ms.")
}

// Wrong bytes are no goodput, and every form says that there were some.
func TestWrongDataIsSilentNowhere(t *testing.T) {
	bad := cell("gateway", "1MiB", 10, 600)
	bad.DeliveredBytes = bad.WindowBytes * 3 / 2
	bad.Failed, bad.FirstErrors = map[records.Outcome]int{"corrupt": 45, "reset": 5}, []string{"corrupt: baga1 differs at 7"}
	run := runOf(cell("raw", "1MiB", 10, 900), bad)
	headline := "Requests that failed: raw none, gateway 33.3 % (50 of 150; 45 brought wrong data). gateway delivered 67 % of raw’s goodput"
	for name, text := range map[string]string{"text": textOf(run, 1000), "Markdown": markdownOf(run), "page": htmlOf(t, run)} {
		if !strings.Contains(text, headline) || !strings.Contains(text, "In 1 of 2 cells a server sent bytes that are not the piece") {
			t.Errorf("%s does not say so:\n%.3000s", name, text)
		}
	}
	wants(t, textOf(run, 1000), "600 (60 %)", "Rows that reached 90 % of the link’s measured ceiling, so that the link decided: raw in 1 of 1, gateway in 1 of 1.")
	wants(t, htmlOf(t, run), "33.3 % failed", "delivered, with failed requests", "900 Mbit/s")
	older := runOf(run.Cells...)
	older.Cells[1].DeliveredBytes = 0
	wants(t, textOf(older, 1000), "older run: The goodput of 1 of 2 cells includes the bytes of failed requests")
	wants(t, text.Document(comparison.Document(comparisonOf(t, older, runOf(cell("raw", "1MiB", 10, 900), bad))), 1000), "older run: 1 row in which the goodput of a side includes")
}

func TestFailuresOnAStarvingLinkAreNotCharged(t *testing.T) {
	starved := limited(cell("raw", "100MiB", 1000, 900), bottleneck.Emulator)
	starved.Failed = map[records.Outcome]int{"short": 17}
	text := textOf(runOf(starved, cell("gateway", "100MiB", 1000, 900)), 1000)
	wants(t, text, "17 failed because the emulated link starved them, and count against no server")
	if strings.Contains(text, "Requests that failed") {
		t.Error("the headline charges raw with them")
	}
}

func TestTwoRepetitionsAllowNoInterval(t *testing.T) {
	var cells []result.Cell
	for rep := range 2 {
		for i, target := range []string{"raw", "gateway"} {
			c := cell(target, "full", 1, []float64{655, 121, 640, 600}[2*rep+i])
			c.Repetition = rep + 1
			cells = append(cells, c)
		}
	}
	run := runOf(cells...)
	const note = "Two repetitions allow no interval: REPEAT=5 gives one."
	for name, text := range map[string]string{"text": textOf(run, 1000), "Markdown": markdownOf(run), "page": htmlOf(t, run)} {
		if strings.Count(text, note) != 1 || strings.Contains(text, "99 % interval of the mean") {
			t.Errorf("%s does not say once that two repetitions allow none", name)
		}
	}
	wants(t, textOf(run, 1000), " 0.42")
	wants(t, text.Document(comparison.Document(comparisonOf(t, run, run, "raw", "gateway")), 1000), "Goodput: unclear in 1 of 1 row.",
		"Two repetitions allow no interval", "647 Mbit/s 269 Mbit/s 0.416 – 2 unclear")
}

// Three repetitions, one of them far off: the interval goes from 0 to millions.
func TestNoAbsurdBoundIsPrinted(t *testing.T) {
	var cells []result.Cell
	for rep, mbits := range []float64{121, 600, 0.3} {
		raw, gateway := cell("raw", "full", 1, 650), cell("gateway", "full", 1, mbits)
		raw.Repetition, gateway.Repetition = rep+1, rep+1
		cells = append(cells, raw, gateway)
	}
	run := runOf(cells...)
	wants(t, textOf(run, 1000), "(not known)", "(more than tenfold)")
	text := text.Document(comparison.Document(comparisonOf(t, run, run, "raw", "gateway")), 1000)
	wants(t, text, "not known 3 unclear", "more than tenfold")
	if strings.Contains(text, "0.000") {
		t.Errorf("a bound of zero:\n%s", text)
	}
}

// Of >500, 800 and 900 the middle is 800 only if the first is no more than that.
func TestTheMiddleOfBoundsIsABound(t *testing.T) {
	var cells []result.Cell
	for rep, ms := range []float64{500, 800, 900} {
		c := withTTFB(cell("raw", "full", 1, 900), ms, ms == 500)
		c.Repetition = rep + 1
		cells = append(cells, c)
	}
	wants(t, markdownOf(runOf(cells...)), "| 80.0 ms | > 800 ms |")
	cells[0].TTFB.P95.Ms = 950
	wants(t, markdownOf(runOf(cells...)), "| 80.0 ms | 900 ms |")
	cells[0].TTFB.P95 = nil // every request of that repetition failed
	wants(t, markdownOf(runOf(cells...)), "| 80.0 ms | > 800 ms |")
}

func TestRatiosOfBoundsAreNotComparedAsValues(t *testing.T) {
	run := runOf(
		withTTFB(cell("raw", "full", 1, 900), 100, false), withTTFB(cell("gateway", "full", 1, 900), 50, true),
		withTTFB(cell("raw", "full", 10, 900), 100, false), withTTFB(cell("gateway", "full", 10, 900), 120, false),
		withTTFB(cell("raw", "full", 100, 900), 100, false), withTTFB(cell("gateway", "full", 100, 900), 130, false),
		withTTFB(cell("raw", "full", 200, 900), 100, true), withTTFB(cell("gateway", "full", 200, 900), 400, false),
	)
	wants(t, textOf(run, 1000), "was between 0.85 and 2.65 times that of raw in the median row and at least 1.30 times in the worst of 4 rows (full, 100 clients")
}

func TestMissingFiguresAreNamed(t *testing.T) {
	a, b := runOf(cell("raw", "full", 1, 900), cell("raw", "1MiB", 1, 900)), runOf(cell("raw", "full", 1, 0), cell("gateway", "full", 1, 900))
	b.ID, b.Planned = "b", 4
	c := comparisonOf(t, a, b)
	if got, want := comparison.Missing(c), "b has 2 of 4 planned cells; raw, 1MiB, 1 client, 1gbit/40ms: not in B; gateway, full, 1 client, 1gbit/40ms: not in A; "+
		"raw, full, 1 client, 1gbit/40ms: B delivered nothing in repetition 1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	wants(t, text.Document(comparison.Document(c), 1000), "missing: 1 gap: raw, full, 1 client, 1gbit/40ms: B delivered nothing in repetition 1.")
	if same := comparisonOf(t, a, a); comparison.Missing(same) != "" {
		t.Errorf("of a run beside itself %q is missing", comparison.Missing(same))
	}
}
