package compare

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piecebench/bench/result"
	"piecebench/records"
)

func cell(target string, repetition int, mbits float64) result.Cell {
	return result.Cell{Target: target, Link: "1gbit/40ms", Mode: "1MiB", Concurrency: 10, Repetition: repetition,
		WindowS: 10, WindowBytes: int64(mbits * 1e6 / 8 * 10), RequestsOK: 1000, Failed: map[records.Outcome]int{}}
}

// withTTFB gives each of cells a 95th percentile of TTFB; a negative one is a bound.
func withTTFB(cells []result.Cell, ms ...float64) []result.Cell {
	for i := range cells {
		cells[i].TTFB.P95 = &result.Quantile{Ms: math.Abs(ms[i]), Bound: ms[i] < 0}
	}
	return cells
}

func repeated(target string, mbits ...float64) (cells []result.Cell) {
	for i, v := range mbits {
		cells = append(cells, cell(target, i+1, v))
	}
	return cells
}

func metricNamed(t *testing.T, name string) Metric {
	t.Helper()
	for _, m := range Metrics {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no metric %q", name)
	return Metric{}
}

func TestVerdictsKnowWhichWayIsBetter(t *testing.T) {
	ttfb := metricNamed(t, "TTFB p95")
	a := withTTFB(repeated("x", 100, 101, 99, 100, 100), 50, 51, 49, 50, 50)
	more := withTTFB(repeated("x", 200, 201, 199, 200, 200), 100, 101, 99, 100, 100)
	for _, c := range []struct {
		what string
		e    Estimate
		want Verdict
	}{
		{"more goodput", Goodput.Of(a, more), Better}, {"less goodput", Goodput.Of(more, a), Worse},
		{"more TTFB", ttfb.Of(a, more), Worse}, {"less TTFB", ttfb.Of(more, a), Better},
		{"the same", Goodput.Of(a, a), NoDifference}, {"one repetition", Goodput.Of(a[:1], more[:1]), Unclear},
	} {
		if got := c.e.Verdict(DefaultMargin); got != c.want {
			t.Errorf("%s: %s, want %s: %+v", c.what, got, c.want, c.e)
		}
	}
}

func TestRunsOfTwoWorkloadsAreNotCompared(t *testing.T) {
	of := func(workload string) *result.Run {
		run := &result.Run{ID: "run-of-" + workload, Cells: repeated("x", 100), Settings: map[string]string{}}
		if workload != "" {
			run.Settings["WORKLOAD"] = workload
		}
		return run
	}
	if _, err := Runs(of("retrieval"), of("mine.js"), nil); err == nil || !strings.Contains(err.Error(), "run-of-mine.js of WORKLOAD=mine.js") || strings.Contains(err.Error(), "\n") {
		t.Errorf("two workloads are compared: %v", err)
	}
	// A run of an older piecebench names none.
	c, err := Runs(of(""), of("retrieval"), nil)
	if err != nil || len(c.Differences) != 0 {
		t.Errorf("%v, %+v", err, c)
	}
}

func TestRunsWithJobsAreComparedByTheirTimes(t *testing.T) {
	of := func(ms ...float64) *result.Run {
		run := &result.Run{Cells: repeated("x", 100, 100, 100)}
		for i := range run.Cells {
			run.Cells[i].Jobs = &result.Jobs{Duration: result.JobQuantiles{P50: &result.Quantile{Ms: ms[i]}, P90: &result.Quantile{Ms: 3 * ms[i], Bound: true}}}
		}
		return run
	}
	c, err := Runs(of(100, 101, 99), of(120, 121, 119), nil)
	if err != nil {
		t.Fatal(err)
	}
	if e := c.Rows[0].Estimates[0]; c.Metrics[0].Name != "job time p50" || e.Verdict(DefaultMargin) != Worse || math.Abs(e.Change-0.2) > 0.01 {
		t.Errorf("%s: %+v", c.Metrics[0].Name, e)
	}
	if e := c.Rows[0].Estimates[1]; e.Known {
		t.Errorf("two bounds are compared: %+v", e)
	}
	plain, err := Runs(&result.Run{Cells: repeated("x", 1)}, &result.Run{Cells: repeated("x", 1)}, nil)
	if err != nil || len(plain.Metrics) != len(Metrics) || plain.Metrics[0].Name != "goodput" {
		t.Errorf("without jobs: %+v, %v", plain, err)
	}
}

// Order must not matter: a list may be as A B B A left it.
func TestRepetitionsArePairedByNumber(t *testing.T) {
	a := []result.Cell{cell("x", 2, 200), cell("x", 1, 100), cell("x", 3, 300)}
	b := []result.Cell{cell("x", 1, 50), cell("x", 2, 100), cell("x", 4, 999)}
	e := Goodput.Of(a, b)
	if e.Repetitions != 2 || math.Abs(e.Change+0.5) > 1e-12 || e.Interval {
		t.Errorf("%+v; want half, in both pairs, without an interval", e)
	}
}

func TestBoundsLeaveAnOpenInterval(t *testing.T) {
	ttfb := metricNamed(t, "TTFB p95")
	known := withTTFB(repeated("x", 1, 1, 1, 1, 1), 100, 101, 99, 100, 102)
	bounds := withTTFB(repeated("x", 1, 1, 1, 1, 1), -7000, -7100, 6900, -7000, -6950)
	low := withTTFB(repeated("x", 1, 1, 1, 1, 1), -101, -100, -100, -100, -99)

	e := ttfb.Of(known, bounds)
	if !e.AtLeast || !math.IsInf(e.High, 1) || e.Verdict(DefaultMargin) != Worse || !e.WorseBy(0.05) {
		t.Errorf("second side cut: %+v", e)
	}
	e = ttfb.Of(bounds, known)
	if !e.AtMost || e.Low != -1 || e.Verdict(DefaultMargin) != Better || e.WorseBy(0) {
		t.Errorf("first side cut: %+v", e)
	}
	// At least the same: anything from no difference upwards.
	if e = ttfb.Of(known, low); e.Verdict(DefaultMargin) != Unclear || e.WorseBy(0) {
		t.Errorf("a bound that shows nothing: %s %+v", e.Verdict(DefaultMargin), e)
	}
	if e = ttfb.Of(bounds, bounds); e.Known || e.Interval || e.Verdict(DefaultMargin) != Unclear || !e.A.Bound || e.A.Value < 6000 {
		t.Errorf("both sides cut: %+v", e)
	}
}

func TestAServerThatDeliversNothingIsWorse(t *testing.T) {
	a := repeated("x", 100, 101, 99)
	if e := Goodput.Of(a, repeated("x", 0, 0, 0)); e.Verdict(DefaultMargin) != Worse || !e.WorseBy(0.5) || e.Change != -1 || e.Interval {
		t.Errorf("nothing in any repetition: %+v", e)
	}
	if e := Goodput.Of(a, repeated("x", 100, 0, 99)); e.Interval || math.Abs(e.Change+0.3367) > 0.001 {
		t.Errorf("nothing in one repetition: %+v", e)
	}
	if e := Goodput.Of(repeated("x", 0, 0, 0), a); e.Known || e.Interval {
		t.Errorf("a first side without goodput: %+v", e)
	}
}

func TestSuccessRatesAreComparedByCounts(t *testing.T) {
	success := metricNamed(t, "success rate")
	a, b := repeated("x", 1), repeated("x", 1)
	b[0].RequestsOK, b[0].Failed = 900, map[records.Outcome]int{"status": 100}
	e := success.Of(a, b)
	if e.Verdict(DefaultMargin) != Worse || math.Abs(e.Change+0.1) > 1e-12 || !e.WorseBy(0.05) || e.WorseBy(0.1) {
		t.Errorf("%+v", e)
	}
	b[0].RequestsOK, b[0].Failed = 0, nil
	if e := success.Of(a, b); e.Known || e.Interval {
		t.Errorf("nothing ended: %+v", e)
	}
}

func TestNoiseIsOnlyCalledSoWhereItHidesSomething(t *testing.T) {
	steady := repeated("x", 100, 101, 99, 100, 100)
	if _, ok := Goodput.Of(steady, repeated("x", 100, 100, 100, 101, 99)).Noisy(DefaultMargin); ok {
		t.Error("an interval of 2 % is called noise")
	}
	if hidden, ok := Goodput.Of(steady, repeated("x", 80, 120, 100, 110, 90)).Noisy(DefaultMargin); !ok || hidden < 0.2 {
		t.Errorf("noise of 15 %%: %v, hides up to %v", ok, hidden)
	}
	if _, ok := Goodput.Of(steady, repeated("x", 40, 60, 50, 55, 45)).Noisy(DefaultMargin); ok {
		t.Error("a difference that is shown is called noise")
	}
	if _, ok := Goodput.Of(steady[:2], repeated("x", 80, 120)).Noisy(DefaultMargin); ok {
		t.Error("two repetitions show how large the noise is")
	}
}

// "No difference" is a finding: a wide interval does not show it.
func TestNoDifferenceIsSaidOnlyWithinTheMargin(t *testing.T) {
	steady := repeated("x", 100, 101, 99, 100, 100)
	even := Goodput.Of(steady, repeated("x", 100, 100, 100, 101, 99)) // about 2 %
	wide := Goodput.Of(steady, repeated("x", 80, 120, 100, 110, 90))
	for _, c := range []struct {
		what   string
		e      Estimate
		margin float64
		want   Verdict
	}{
		{"within 5 %", even, 0.05, NoDifference}, {"not within 1 %", even, 0.01, Unclear},
		{"far beyond 5 %", wide, 0.05, Unclear}, {"within a margin as wide", wide, 0.6, NoDifference},
		{"655 against 121, twice", Goodput.Of(repeated("x", 655, 640), repeated("x", 121, 119)), 0.05, Unclear},
		{"655 against 121, five times", Goodput.Of(repeated("x", 655, 640, 650, 645, 660), repeated("x", 121, 119, 120, 118, 122)), 0.05, Worse},
		{"one of three far off", Goodput.Of(repeated("x", 655, 640, 650), repeated("x", 121, 600, 3)), 0.05, Unclear},
	} {
		if got := c.e.Verdict(c.margin); got != c.want {
			t.Errorf("%s: %s, want %s (%.3f to %.3f)", c.what, got, c.want, 1+c.e.Low, 1+c.e.High)
		}
	}
}

func limited(cells []result.Cell, by string) []result.Cell {
	for i := range cells {
		cells[i].LimitedBy = by
	}
	return cells
}

// A difference that the machine made is none of the servers; that a server mostly
// fails is one.
func TestWhatTheMachineDecidedIsNotJudged(t *testing.T) {
	ttfb := metricNamed(t, "TTFB p95")
	fast := func() []result.Cell {
		return withTTFB(repeated("x", 200, 201, 199, 200, 200), 50, 51, 49, 50, 50)
	}
	slow := func() []result.Cell {
		return withTTFB(repeated("x", 100, 101, 99, 100, 100), 100, 101, 99, 100, 100)
	}
	late := slow()
	late[4].Evidence = &result.Evidence{Emulator: &result.Emulator{Late: 0.97}}
	dead := limited(repeated("x", 0, 0, 0, 0, 0), "generator")
	for i := range dead {
		dead[i].RequestsOK, dead[i].Failed = 0, map[records.Outcome]int{"connect": 5000}
	}
	one := slow()
	limited(one[:1], "host")
	for _, c := range []struct {
		what    string
		e       Estimate
		want    Verdict
		worseBy bool
	}{
		{"a link that is full", Goodput.Of(limited(fast(), "link"), limited(slow(), "link")), Worse, true},
		{"the host limits the second", Goodput.Of(fast(), limited(slow(), "host")), NotJudged, true},
		{"the host limits the first", Goodput.Of(limited(fast(), "host"), slow()), NotJudged, false},
		{"the generator limits both", Goodput.Of(limited(fast(), "generator"), limited(slow(), "generator")), NotJudged, false},
		{"one repetition of the second", Goodput.Of(fast(), one), NotJudged, true},
		{"a late link: goodput", Goodput.Of(fast(), late), Worse, true},
		{"a late link: TTFB", ttfb.Of(late, fast()), NotJudged, false},
		{"a dead server, and a generator that spins", Goodput.Of(fast(), dead), Worse, true},
		{"CPU time on a full machine", metricNamed(t, "success rate").Of(limited(fast(), "host"), limited(fast(), "host")), NoDifference, false},
	} {
		if got := c.e.Verdict(DefaultMargin); got != c.want || c.e.WorseBy(0.05) != c.worseBy {
			t.Errorf("%s: %s, worse by 5 %%: %v; want %s, %v", c.what, got, c.e.WorseBy(0.05), c.want, c.worseBy)
		}
	}
}

// What is missing or zero must not pass for what was compared.
func TestEveryGapOfAComparisonIsFound(t *testing.T) {
	whole := func() []result.Cell {
		return withTTFB(repeated("x", 100, 101, 99, 100, 100), 50, 51, 49, 50, 50)
	}
	dead := whole()
	dead[1].WindowBytes, dead[1].RequestsOK, dead[1].TTFB = 0, 0, result.Quantiles{}
	unanswered := whole()
	unanswered[2].TTFB.P95 = nil
	for _, c := range []struct {
		what string
		a, b []result.Cell
		want []Gap
	}{
		{"whole", whole(), whole(), nil},
		{"1 of 5 repetitions", whole(), whole()[:1], []Gap{{Second: true, Repetition: 2, Lack: NoRepetition}, {Second: true, Repetition: 3, Lack: NoRepetition},
			{Second: true, Repetition: 4, Lack: NoRepetition}, {Second: true, Repetition: 5, Lack: NoRepetition}}},
		{"the first lacks one", whole()[1:], whole(), []Gap{{Repetition: 1, Lack: NoRepetition}}},
		{"dead in one repetition", whole(), dead, []Gap{{Second: true, Repetition: 2, Lack: NoGoodput}}},
		{"dead in the first", dead, whole(), []Gap{{Repetition: 2, Lack: NoGoodput}}},
		{"zero and zero", dead, dead, []Gap{{Repetition: 2, Lack: NoGoodput}, {Second: true, Repetition: 2, Lack: NoGoodput}}},
		{"no TTFB", whole(), unanswered, []Gap{{Second: true, Repetition: 3, Metric: "TTFB p95", Lack: NoFigure}}},
	} {
		compared, err := Runs(runOf("a", c.a...), runOf("b", c.b...), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.want {
			c.want[i].Place = compared.Rows[0].Place
		}
		if diff := cmp.Diff(c.want, compared.Gaps()); diff != "" {
			t.Errorf("%s: %s", c.what, diff)
		}
		if n := len(compared.Incomplete()); n != 0 {
			t.Errorf("%s: %d runs are said to be incomplete", c.what, n)
		}
	}
	short := runOf("b", whole()...)
	short.Planned = 9
	if compared, err := Runs(runOf("a", whole()...), short, nil); err != nil || len(compared.Incomplete()) != 1 || compared.Incomplete()[0] != short {
		t.Errorf("a run that lacks planned cells: %v, %v", compared.Incomplete(), err)
	}
}

func runOf(id string, cells ...result.Cell) *result.Run {
	return &result.Run{ID: id, Cells: cells, Planned: len(cells)}
}

func TestCellsThatOnlyOneHasAreListed(t *testing.T) {
	other := cell("x", 1, 100)
	other.Mode = "full"
	c, err := Runs(runOf("a", cell("x", 1, 100), other), runOf("b", cell("x", 1, 100), cell("y", 1, 100)), nil)
	if err != nil || len(c.Rows) != 1 || len(c.OnlyA) != 1 || c.OnlyA[0].Mode != "full" || len(c.OnlyB) != 1 || c.OnlyB[0].Target != "y" {
		t.Fatalf("%v, %+v", err, c)
	}
	if got := c.OnlyB[0].String(); got != "y, 1MiB, 10 clients, 1gbit/40ms" {
		t.Error(got)
	}
}

func TestDifferencesOfTheConditions(t *testing.T) {
	a, b := runOf("a", cell("x", 1, 100)), runOf("b", cell("x", 1, 100))
	a.Fingerprint = map[string]string{"kernel": "6.1", "cpu": "same", "gone": "1"}
	b.Fingerprint = map[string]string{"kernel": "6.2", "cpu": "same"}
	a.Settings, b.Settings = map[string]string{"DURATION": "10s"}, map[string]string{"DURATION": "5s"}
	a.Calibrations = []result.Calibration{{Link: "1gbit/40ms", Backend: "kernel", CeilingBits: 950e6}, {Link: "none"}}
	b.Calibrations = []result.Calibration{{Link: "1gbit/40ms", Backend: "userspace", CeilingBits: 900e6, HostLimited: true}}
	c, err := Runs(a, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range c.Differences {
		got = append(got, strings.Join([]string{d.Of, d.Name, d.A, d.B}, "|"))
	}
	want := "machine|gone|1| machine|kernel|6.1|6.2 setting|DURATION|10s|5s link|1gbit/40ms backend|kernel|userspace " +
		"link|1gbit/40ms host-limited|no|yes link|1gbit/40ms ceiling|950 Mbit/s|900 Mbit/s"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}

// An older piecebench collected less: that is one difference, not one a name.
func TestWhatOneRevisionDidNotCollectIsSummedUp(t *testing.T) {
	a, b := runOf("a", cell("x", 1, 100)), runOf("b", cell("x", 1, 100))
	a.Fingerprint = map[string]string{"kernel": "6.1", "gone": "1"}
	b.Fingerprint = map[string]string{"kernel": "6.2", "revision": "2", "n1": "1", "n2": "1", "n3": "1", "n4": "1", "n5": "1"}
	a.Settings = map[string]string{"DURATION": "5s"}
	b.Settings = map[string]string{"DURATION": "5s", "REQUESTS": "window", "PRICE_EGRESS": "0.05"}
	got := differences(a, b)
	want := []Difference{
		{"machine", "kernel", "6.1", "6.2"},
		{"machine", "in one run only", "gone", "n1, n2, n3, n4 and 2 more"},
		{"setting", "in one run only", "", "REQUESTS"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// The same revision leaves out what is not there.
	a.Fingerprint["revision"] = "2"
	if got := differences(a, b); len(got) != 1+6+1 {
		t.Errorf("%d differences: %v", len(got), got)
	}
	// What a report reckons with was not measured with.
	a.Settings, b.Settings, b.Fingerprint = map[string]string{"PRICE_EGRESS": "0"}, map[string]string{"PRICE_EGRESS": "0.05"}, a.Fingerprint
	if got := differences(a, b); got != nil {
		t.Errorf("prices are a difference: %v", got)
	}
}

func TestWhatCannotBeComparedIsRefusedInOneLine(t *testing.T) {
	a, b := runOf("a", repeated("x", 1, 1)...), runOf("b", repeated("y", 1, 1)...)
	for _, c := range []struct {
		a, b    *result.Run
		targets []string
		want    string
	}{
		{a, b, nil, "no row in common"},
		{a, b, []string{"x"}, `"x" does not name two targets`},
		{a, b, []string{"x", ""}, "does not name two targets"},
		{a, b, []string{"x", "z"}, "run b has no cell of target z; it has: y"},
		{runOf("empty"), b, nil, "no row in common"},
	} {
		_, err := Runs(c.a, c.b, c.targets)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", c.targets, err, c.want)
		}
	}
	if c, err := Runs(a, b, []string{"x", "y"}); err != nil || len(c.Rows) != 1 {
		t.Errorf("two targets of two runs: %v", err)
	}
}

func TestWithoutRepetitionsNoRegressionCanBeFound(t *testing.T) {
	c, err := Runs(runOf("a", cell("x", 1, 100)), runOf("b", cell("x", 1, 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Regressions(0.05); err == nil || !strings.Contains(err.Error(), "REPEAT=5") {
		t.Errorf("%v; want that repetitions are needed", err)
	}
}
