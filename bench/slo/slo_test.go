package slo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piecebench/bench/bottleneck"
	"piecebench/bench/result"
	"piecebench/records"
)

func rules(t *testing.T, text string) []Rule {
	t.Helper()
	path := filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBadFilesAreRefusedWithTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "it has no rule",
		"# nothing\n":                          "it has no rule",
		"- target: x\n  sucess_rate: 99%":      "line 2: field sucess_rate not found among a rule's keys",
		"- target: x":                          "line 1: this rule has no limit",
		"- link: a\n  ttfb_p95: 1s\n- mode: b": "line 3: this rule has no limit",
		"- success_rate: 99":                   "line 1: 99 is not a share",
		"- success_rate: 101%":                 "line 1: 101% is not a share",
		"- link_share: -1%":                    "line 1: -1% is not a share",
		"- success_rate: .nan":                 "line 1: .nan is not a share",
		"- ttfb_p95: 200":                      "line 1: 200 is not a time",
		"- ttfb_p99: -1s":                      "line 1: -1s is not a time",
		"- client_goodput: 5":                  "line 1: 5 is not a rate",
		"- goodput_over: {raw: much}":          "line 1: much is not a ratio",
		"- goodput_over: 0.9":                  "line 1: a number does not belong here",
		"- ttfb_p95: 1s\n  ttfb_p95: 2s":       `"ttfb_p95" already defined`,
		"target: x":                            "line 1: a mapping does not belong here (piecebench check --help",
		"- ttfb_p95: 1s\n---\n- ttfb_p95: 1s":  "more than one YAML document",
		"- {target: [a], ttfb_p95: 1s}\n- b":   "line 1: a list does not belong here (piecebench check --help shows a file); line 2: text does not",
		"- [":                                  "line 1",
	} {
		path := filepath.Join(t.TempDir(), "limits.yaml")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		switch {
		case err == nil:
			t.Errorf("%q is accepted", text)
		case !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), path) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "slo."):
			t.Errorf("%q: %q does not say %q in one line, after the file's name", text, err, want)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "does not exist: name a file of limits") {
		t.Errorf("a file that does not exist: %v", err)
	}
}

func cell(target, link, mode string, clients, repetition int) result.Cell {
	return result.Cell{Target: target, Link: link, Mode: mode, Concurrency: clients, Repetition: repetition, WindowS: 10,
		RequestsOK: 1000, Failed: map[records.Outcome]int{}, WindowBytes: 1e9, CeilingBits: 1e9,
		TTFB: result.Quantiles{P50: &result.Quantile{Ms: 50}, P95: &result.Quantile{Ms: 100}, P99: &result.Quantile{Ms: 150}}}
}

func runOf(cells ...result.Cell) *result.Run {
	return &result.Run{ID: "x", Cells: cells, Planned: len(cells)}
}

// check compares the broken limits and the number of checked limits with what is wanted.
func check(t *testing.T, run *result.Run, text string, checked int, want ...string) {
	t.Helper()
	got := Check(run, rules(t, text))
	if diff := cmp.Diff(want, got.Broken); diff != "" {
		t.Errorf("%s\n%s", text, diff)
	}
	if n := got.Held + len(got.Broken); n != checked || got.NotJudged != nil {
		t.Errorf("%s\n%d limits were checked, want %d; not judged: %q", text, n, checked, got.NotJudged)
	}
}

func TestLimitsHoldAtTheLimit(t *testing.T) {
	run := runOf(cell("raw", "1gbit/40ms", "1MiB", 10, 1))
	check(t, run, "- {success_rate: 100%, link_share: 0.8, ttfb_p50: 50ms, ttfb_p95: 100ms, ttfb_p99: 150ms, goodput_over: {raw: 2}}", 5)
	check(t, run, "- {link_share: 81%, ttfb_p50: 49ms, ttfb_p95: 99ms, ttfb_p99: 0.1s}", 4,
		"line 1: raw, 1MiB, 10 clients, 1gbit/40ms, repetition 1: link share is 80 %; it must be at least 81 %",
		"line 1: raw, 1MiB, 10 clients, 1gbit/40ms, repetition 1: TTFB p50 is 50ms; it must be at most 49ms",
		"line 1: raw, 1MiB, 10 clients, 1gbit/40ms, repetition 1: TTFB p95 is 100ms; it must be at most 99ms",
		"line 1: raw, 1MiB, 10 clients, 1gbit/40ms, repetition 1: TTFB p99 is 150ms; it must be at most 100ms")
}

func TestLimitsOfJobs(t *testing.T) {
	c := cell("raw", "1gbit/40ms", "100", 10, 1)
	c.Jobs = &result.Jobs{OK: 99, Failed: 1, Duration: result.JobQuantiles{P50: &result.Quantile{Ms: 1000}, P90: &result.Quantile{Ms: 2000}}}
	check(t, runOf(c), "- {job_success_rate: 99%, job_p50: 1s, job_p90: 2s}", 3)
	const at = "line 1: raw, 100, 10 clients, 1gbit/40ms, repetition 1: "
	check(t, runOf(c), "- {job_success_rate: 100%, job_p50: 0.9s, job_p99: 5s}", 3,
		at+"job success rate is 99 %; it must be at least 100 %",
		at+"job time p50 is 1s; it must be at most 900ms",
		at+"job time p99 is unknown, because no job ended; it must be at most 5s")
	c.Jobs = nil
	check(t, runOf(c), "- {job_success_rate: 0%, job_p50: 1s}", 2,
		at+"job success rate is unknown, because no job ended; it must be at least 0 %",
		at+"job time p50 is unknown, because no job ended; it must be at most 1s")
}

func TestGoodputPerClient(t *testing.T) {
	run := runOf(cell("raw", "none", "1MiB", 10, 1)) // 800 Mbit/s
	check(t, run, "- client_goodput: 80mbit", 1)
	check(t, run, "- client_goodput: 80.001mbit", 1,
		"line 1: raw, 1MiB, 10 clients, no emulated link, repetition 1: goodput per client is 80 Mbit/s; it must be at least 80.001")
}

// 99.89 % must not be shown as "99.9 %; it must be at least 99.9 %".
func TestFailuresAreReadable(t *testing.T) {
	c := cell("gateway", "1gbit/40ms", "full", 1, 2)
	c.RequestsOK, c.Failed = 9989, map[records.Outcome]int{"status": 11}
	check(t, runOf(c), "# limits\n- success_rate: 99.9%", 1,
		"line 2: gateway, full, 1 client, 1gbit/40ms, repetition 2: success rate is 99.89 %; it must be at least 99.9 %")
}

func TestRulesSelectByNamesAndGlobs(t *testing.T) {
	run := runOf(
		cell("raw", "1gbit/40ms", "1MiB", 10, 1), cell("gateway", "1gbit/40ms", "1MiB", 10, 1),
		cell("gateway", "10gbit/40ms", "full", 100, 1), cell("gateway", "10gbit/40ms", "10MiB", 1000, 1))
	for selector, n := range map[string]int{
		"target: gateway":                       3,
		"target: gate*":                         3,
		"target: gate":                          0,
		"link: 1gbit/*":                         2,
		"link: '*'":                             4,
		"mode: '*MiB'":                          3,
		"mode: 'full, 10MiB'":                   2,
		"concurrency: 10":                       2,
		"concurrency: 10*":                      4,
		"concurrency: '100,1000'":               2,
		"target: gateway\n  link: '*/40ms'":     3,
		"target: raw\n  concurrency: 100":       0,
		"mode: .*":                              0, // no regular expressions
		"target: gateway\n  concurrency: '?0*'": 0,
	} {
		outcome := Check(run, rules(t, "- "+selector+"\n  ttfb_p95: 1s"))
		checked, broken := outcome.Held+len(outcome.Broken), outcome.Broken
		if n == 0 {
			if len(broken) != 1 || !strings.Contains(broken[0], "selects no cell of the run") {
				t.Errorf("%s: %q; want that nothing is selected", selector, broken)
			}
		} else if checked != n || len(broken) > 0 {
			t.Errorf("%s: %d cells, %q; want %d", selector, checked, broken, n)
		}
	}
}

func TestWhatIsNotKnownDoesNotHold(t *testing.T) {
	c := cell("x", "none", "full", 1, 1)
	c.RequestsOK, c.CeilingBits = 0, 0
	c.TTFB = result.Quantiles{P95: &result.Quantile{Ms: 90, Bound: true}, P99: &result.Quantile{Ms: 7000, Bound: true}}
	check(t, runOf(c), "- {success_rate: 0%, link_share: 0%, ttfb_p50: 1s, ttfb_p95: 100ms, ttfb_p99: 1s}", 5,
		"line 1: x, full, 1 client, no emulated link, repetition 1: success rate is unknown, because no request ended; it must be at least 0 %",
		"line 1: x, full, 1 client, no emulated link, repetition 1: link share is unknown, because the link has no measured ceiling; it must be at least 0 %",
		"line 1: x, full, 1 client, no emulated link, repetition 1: TTFB p50 is unknown, because no request was answered; it must be at most 1s",
		"line 1: x, full, 1 client, no emulated link, repetition 1: TTFB p95 is above 90ms, and may be above the limit of 100ms: requests were cut. Use a longer DURATION",
		"line 1: x, full, 1 client, no emulated link, repetition 1: TTFB p99 is above 7s; it must be at most 1s")
}

func TestGoodputOverAnotherTarget(t *testing.T) {
	raw, gateway := cell("raw", "none", "full", 1, 1), cell("gateway", "none", "full", 1, 1)
	gateway.WindowBytes = 0.9e9
	run := runOf(raw, gateway)
	check(t, run, "- goodput_over: {raw: 90%}", 1)
	check(t, run, "- goodput_over: {raw: 0.95}", 1,
		"line 1: gateway, full, 1 client, no emulated link: goodput over that of raw is 0.9000; it must be at least 0.95")
	check(t, run, "- {target: gateway, goodput_over: {other: 0.5}}", 1,
		"line 1: goodput_over names other, which is not a target of the run; the run has the targets gateway, raw, links none, modes full and concurrencies 1")
	elsewhere := raw
	elsewhere.Mode = "1MiB"
	check(t, runOf(elsewhere, gateway), "- {target: gateway, goodput_over: {raw: 0.5}}", 1,
		"line 1: gateway, full, 1 client, no emulated link: goodput over that of raw is unknown, because that target has no such cell or delivered nothing; it must be at least 0.5")

	raw2, gateway2 := raw, gateway
	raw2.Repetition, gateway2.Repetition, gateway2.WindowBytes = 2, 2, 0.91e9
	check(t, runOf(raw, gateway, gateway2, raw2), "- {target: gateway, goodput_over: {raw: 0.95}}", 1,
		"line 1: gateway, full, 1 client, no emulated link: goodput over that of raw is 0.9050; it must be at least 0.95")
	raw3, gateway3 := raw, gateway
	raw3.Repetition, gateway3.Repetition, gateway3.WindowBytes = 3, 3, 0.905e9
	check(t, runOf(raw, gateway, gateway2, raw2, raw3, gateway3), "- {target: gateway, goodput_over: {raw: 0.95}}", 1,
		"line 1: gateway, full, 1 client, no emulated link: goodput over that of raw is 0.9050 (99 % interval 0.877 to 0.934); it must be at least 0.95")
}

// A figure that the machine decided is neither held nor broken. If every figure is one,
// the check does not pass.
func TestWhatTheMachineDecidedIsNotJudged(t *testing.T) {
	raw, gateway := cell("raw", "1gbit/40ms", "1MiB", 10, 1), cell("gateway", "1gbit/40ms", "1MiB", 10, 1)
	rawFull, gatewayFull := cell("raw", "1gbit/40ms", "1MiB", 1000, 1), cell("gateway", "1gbit/40ms", "1MiB", 1000, 1)
	gatewayFull.LimitedBy, gatewayFull.WindowBytes = bottleneck.Host, 1e7
	late := cell("gateway", "1gbit/40ms", "full", 10, 1)
	late.Evidence = &result.Evidence{Emulator: &result.Emulator{Late: 0.9}}
	rawToo := late
	rawToo.Target = "raw"
	run := runOf(raw, gateway, rawFull, gatewayFull, late, rawToo)
	got := Check(run, rules(t, "- {target: gateway, success_rate: 99%, link_share: 50%, ttfb_p95: 100ms, goodput_over: {raw: 0.9}}"))
	want := Outcome{Held: 3 + 2 + 1 + 2, NotJudged: []string{
		"line 1: gateway, 1MiB, 1000 clients, 1gbit/40ms, repetition 1: link share is not judged: the machine limited the cell (host)",
		"line 1: gateway, 1MiB, 1000 clients, 1gbit/40ms, repetition 1: TTFB p95 is not judged: the machine limited the cell (host)",
		"line 1: gateway, full, 10 clients, 1gbit/40ms, repetition 1: TTFB p95 is not judged: the emulated delay was late",
		"line 1: gateway, 1MiB, 1000 clients, 1gbit/40ms: goodput over that of raw is not judged: the machine limited one of the two",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	got = Check(run, rules(t, "- {concurrency: 1000, target: gateway, success_rate: 99%, ttfb_p95: 1h, goodput_over: {raw: 0}}"))
	if got.Held != 1 || len(got.NotJudged) != 2 || len(got.Broken) != 2 ||
		!strings.Contains(got.Broken[0], "line 1: TTFB p95 could not be judged in any cell") || !strings.Contains(got.Broken[1], "line 1: goodput over that of raw could not be judged") {
		t.Errorf("a rule of which nothing can be judged: %+v", got)
	}
}

// A link that starves its clients fails their requests; wrong bytes are the server's.
func TestFailuresOnAStarvingLinkAreNotCharged(t *testing.T) {
	c := cell("raw", "10gbit/40ms", "100MiB", 1000, 1)
	c.LimitedBy, c.Failed = bottleneck.Emulator, map[records.Outcome]int{"short": 17}
	if got := Check(runOf(c), rules(t, "- success_rate: 100%")); len(got.NotJudged) != 1 || len(got.Broken) != 1 || !strings.Contains(got.Broken[0], "could not be judged") {
		t.Errorf("%+v", got)
	}
	c.Failed["corrupt"] = 1
	if got := Check(runOf(c), rules(t, "- success_rate: 100%")); len(got.NotJudged) != 0 || len(got.Broken) != 1 || !strings.Contains(got.Broken[0], "success rate is 99.9001 %") {
		t.Errorf("%+v", got)
	}
}

func TestARuleThatSelectsNothingSaysWhatThereIs(t *testing.T) {
	run := runOf(cell("raw", "1gbit/40ms", "1MiB", 10, 1), cell("raw", "none", "1MiB", 100, 1))
	check(t, run, "- {target: gatway, success_rate: 99%}", 1,
		"line 1: this rule selects no cell of the run; the run has the targets raw, links 1gbit/40ms, none, modes 1MiB and concurrencies 10, 100")
}

func TestAnIncompleteRunDoesNotPass(t *testing.T) {
	run := runOf(cell("raw", "none", "full", 1, 1))
	run.Planned = 3
	check(t, run, "- success_rate: 99%", 2, "the run is incomplete: it has 1 of 3 planned cells")
	run.Cells = nil
	check(t, run, "- success_rate: 99%", 2, "the run is incomplete: it has 0 of 3 planned cells",
		"line 1: this rule selects no cell of the run; the run has no cells")
}

func TestACellThatTheMachineDecided(t *testing.T) {
	c := cell("mine", "none", "1MiB", 10, 1)
	c.LimitedBy = bottleneck.Host
	for limit, want := range map[string]struct{ broken, notJudged int }{
		"client_goodput: 80mbit":                       {0, 0}, // it can only be more
		"client_goodput: 81mbit":                       {0, 1},
		"ttfb_p95: 1h":                                 {0, 1},
		"success_rate: 100%":                           {0, 0},
		"success_rate: 100%\n  client_goodput: 80mbit": {0, 0},
	} {
		if broken, notJudged := Cell(c, rules(t, "- "+limit)); len(broken) != want.broken || len(notJudged) != want.notJudged {
			t.Errorf("%s: broken %q, not judged %q", limit, broken, notJudged)
		}
	}
	c.Failed = map[records.Outcome]int{records.Connect: 10}
	if broken, notJudged := Cell(c, rules(t, "- success_rate: 100%")); broken != nil || len(notJudged) != 1 || !strings.Contains(notJudged[0], "(host)") {
		t.Errorf("connections that failed: broken %q, not judged %q", broken, notJudged)
	}
	c.Failed = map[records.Outcome]int{records.Status: 10}
	if broken, notJudged := Cell(c, rules(t, "- success_rate: 100%")); len(broken) != 1 || notJudged != nil {
		t.Errorf("refused requests: broken %q, not judged %q", broken, notJudged)
	}
}
