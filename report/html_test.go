package report_test

import (
	"strings"
	"testing"

	"piecebench/bench/result"
	"piecebench/records"
	"piecebench/report/page"
)

func htmlOf(t *testing.T, run *result.Run) string {
	t.Helper()
	page, err := page.Run(t.TempDir(), run)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// needLibrary skips where this build has no ECharts.
func needLibrary(t *testing.T) string {
	t.Helper()
	library, err := page.Library()
	if err != nil {
		t.Fatal(err)
	}
	if library == nil {
		t.Skip("SKIPPED, NOT tested: this build has no ECharts; run report/page/assets/fetch, which needs npm, and test again")
	}
	return string(library)
}

// ours is the page without the library, whose strings hold addresses and markup.
func ours(t *testing.T, html string) string {
	t.Helper()
	library, err := page.Library()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(html, string(library), "", 1)
}

func TestPageAnswersFirst(t *testing.T) {
	page := ours(t, htmlOf(t, runOf(
		cell("raw", "1MiB", 10, 400), cell("gateway", "1MiB", 10, 100),
		cell("raw", "1MiB", 100, 600), cell("gateway", "1MiB", 100, 486))))
	wants(t, page, "<h1>gateway delivered 53 % of raw’s goodput in the median row and 25 % in the worst of 2 rows",
		`<td class="worst"><a class="row" href="#clients=10&amp;link=1gbit%2F40ms&amp;mode=1MiB" title="1MiB, 10 clients, 1gbit/40ms: 100 against 400 Mbit/s"><span>0.25</span><small>not known</small></a></td>`,
		`<td class="worse2"><a class="row" href="#clients=100&amp;link=1gbit%2F40ms&amp;mode=1MiB" title="1MiB, 100 clients, 1gbit/40ms: 486 against 600 Mbit/s"><span>0.81</span><small>not known</small></a></td>`,
		"RTT 40.1 ms, measured ceiling 1000 Mbit/s of 1000", "<h2>Calibration</h2>")
}

func TestPageLoadsNothing(t *testing.T) {
	page := ours(t, htmlOf(t, synthetic(defaultSweep)))
	wants(t, page, `content="default-src 'none';`)
	for _, loads := range []string{"http://", "https://", " src=", "<link", "@import", "url(", "fetch("} {
		if strings.Contains(page, loads) {
			t.Errorf("the page holds %q", loads)
		}
	}
}

func TestLibraryCannotEndItsScript(t *testing.T) {
	library := needLibrary(t)
	for _, end := range []string{"</script", "<!--"} {
		if strings.Contains(strings.ToLower(library), end) {
			t.Errorf("ECharts holds %q, which a page may not hold inside a script", end)
		}
	}
	wants(t, library, "Licensed to the Apache Software Foundation")
}

func hostileRun() *result.Run {
	const name = `<script>document.documentElement.dataset.error="ran"</script><img src=x onerror="document.documentElement.dataset.error='ran'">`
	raw, bad := cell("raw", name, 1, 1), cell(name, name, 1, 1)
	bad.Link, raw.Link = name, name
	bad.Failed, bad.FirstErrors, bad.LimitedBy = map[records.Outcome]int{records.Outcome(name): 1}, []string{name}, name
	bad.Because = name
	run := runOf(raw, bad)
	run.ID, run.Settings, run.Fingerprint = name, map[string]string{name: name}, map[string]string{name: name}
	run.Calibrations[0].Link, run.Calibrations[0].Notes, run.Calibrations[0].Backend = name, []string{name}, name
	return run
}

func TestHostileNamesAreTextInThePage(t *testing.T) {
	page := ours(t, htmlOf(t, hostileRun()))
	scripts := strings.Count(page, "<script")
	if clean := strings.Count(ours(t, htmlOf(t, runOf(cell("a", "b", 1, 1)))), "<script"); scripts != clean {
		t.Errorf("%d scripts, where harmless names give %d", scripts, clean)
	}
	if strings.Contains(page, "<img") {
		t.Error("a name became an element")
	}
}

func TestBoundsAreDrawnAsBounds(t *testing.T) {
	slow := cell("raw", "full", 10, 5)
	slow.TTFB.P95 = &result.Quantile{Ms: 12000, Bound: true}
	page := htmlOf(t, runOf(cell("raw", "full", 1, 5), slow))
	wants(t, page, `{"value":[10,12000],"text":"p95 \u003e 12.0 s","row":1,"symbol":"path://M0,-10L10,8L-10,8ZM0,-5L-6,5.5L6,5.5Z","symbolSize":11}`)
}
