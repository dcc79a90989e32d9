package report_test

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"piecebench/bench/result"
	"piecebench/internal/testneeds"
	"piecebench/records"
	"piecebench/report"
	"piecebench/report/page"
)

// browser is a page in a headless Chromium, and what went wrong in it.
type browser struct {
	t        *testing.T
	ctx      context.Context
	mu       sync.Mutex
	problems []string
	requests []string
}

// newBrowser starts Chromium, or skips where there is none.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	needLibrary(t)
	testneeds.Program(t, "chromium")
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(time.Minute))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	// The protocol's Go types are older than the browser may be: what they do not know is no fault of the page.
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			b.requests = append(b.requests, e.Request.URL)
		case *runtime.EventExceptionThrown:
			b.problems = append(b.problems, e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			b.problems = append(b.problems, fmt.Sprintf("console.%s: %s", e.Type, e.Args[0].Value))
		case *log.EventEntryAdded:
			b.problems = append(b.problems, e.Entry.Text)
		}
	})
	// The browser lives as long as the context of this first call.
	if err := chromedp.Run(ctx, network.Enable(), log.Enable()); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *browser) do(actions ...chromedp.Action) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// js evaluates an expression.
func js[T any](b *browser, expression string) (value T) {
	b.t.Helper()
	b.do(chromedp.Evaluate(expression, &value, chromedp.EvalAsValue))
	return value
}

// until waits for an expression to become true.
func (b *browser) until(what, expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Run(ctx, chromedp.Poll(expression, nil)); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// point moves the mouse to a place, an expression for [x, y], until what it
// shows is true, and returns the place. It is read anew each time, because what
// is drawn late may move it.
func (b *browser) point(what, place, shows string) []float64 {
	b.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		at := js[[]float64](b, place)
		b.do(chromedp.MouseEvent("mouseMoved", at[0]-1, at[1]), chromedp.MouseEvent("mouseMoved", at[0], at[1]))
		ctx, cancel := context.WithTimeout(b.ctx, 2*time.Second)
		err := chromedp.Run(ctx, chromedp.Poll(shows, nil))
		cancel()
		if err == nil {
			return at
		}
	}
	b.t.Fatalf("the mouse at %s: no %s", place, what)
	return nil
}

// open shows a page from disk in a window of a width, light or dark, as high as
// several screens: a page has charts for many.
func (b *browser) open(page []byte, width int64, scheme string) {
	b.t.Helper()
	// A name that a URL must escape.
	file := filepath.Join(b.t.TempDir(), "a report #1.html")
	if err := os.WriteFile(file, page, 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.mu.Lock()
	b.requests, b.problems = nil, nil
	b.mu.Unlock()
	b.do(
		emulation.SetDeviceMetricsOverride(width, 4000, 1, width < 500),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.Navigate((&url.URL{Scheme: "file", Path: file}).String()))
}

// drawAll shows every pane and scrolls over all of the page, so that all charts
// are drawn.
func (b *browser) drawAll() {
	b.t.Helper()
	b.do(chromedp.Evaluate(`(async () => {
		const scroll = async () => {
			for (let y = 0; y < document.body.scrollHeight; y += innerHeight * 2 / 3) {
				scrollTo(0, y);
				await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
			}
		};
		const links = document.querySelectorAll("[data-choice=link]");
		for (const link of links.length > 0 ? [...links].reverse() : [undefined]) {
			link?.click();
			for (const view of [...document.querySelectorAll("[name=view-" + (link?.value ?? 0) + "]")].reverse()) {
				view.click();
				await scroll();
			}
		}
		scrollTo(0, 0);
	})()`, nil, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	if left := js[string](b, `[...document.querySelectorAll("[data-chart]:not([data-drawn])")].map((p) => p.ariaLabel).join("; ")`); left != "" {
		b.t.Errorf("not drawn: %s", left)
	}
	if empty := js[int](b, `[...document.querySelectorAll("[data-drawn]")].filter((p) => !p.querySelector("svg path")).length`); empty > 0 {
		b.t.Errorf("%d charts have no line", empty)
	}
}

// tooWide names what sticks out of the window, so that the whole page scrolls
// sideways. Tables and charts may, in a frame of their own. (A phone's innerWidth
// grows with what sticks out.)
const tooWide = `document.documentElement.scrollWidth <= %[1]d ? "" : [...document.querySelectorAll("body *")]
	.filter((e) => !e.closest(".scroll, .modes") && e.getBoundingClientRect().right > %[1]d)
	.map((e) => e.tagName + "." + e.className + " in " + e.parentElement.className).join("; ") || "something"`

// clean checks that the page asked for nothing and complained of nothing.
func (b *browser) clean() {
	b.t.Helper()
	if ran := js[string](b, `document.documentElement.dataset.error ?? ""`); ran != "" {
		b.t.Errorf("a name did something: %s", ran)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.problems) > 0 {
		b.t.Errorf("the page complains: %s", strings.Join(b.problems, "\n"))
	}
	if len(b.requests) != 1 || !strings.HasPrefix(b.requests[0], "file://") {
		b.t.Errorf("the page asked for %q, want itself only", b.requests)
	}
}

// picture keeps a picture of the whole page where go test -artifacts puts it.
func (b *browser) picture(name string) {
	b.t.Helper()
	if flag.Lookup("test.artifacts").Value.String() != "true" {
		return // a picture takes a second
	}
	var png []byte
	b.do(chromedp.FullScreenshot(&png, 100))
	if err := os.WriteFile(filepath.Join(b.t.ArtifactDir(), name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// pages by name: what a run can be, in its extremes.
func browserPages(t *testing.T) map[string][]byte {
	t.Helper()
	five, one, repeated := defaultSweep, defaultSweep, defaultSweep
	five.targets = []string{"raw", "gateway", "gateway-flat", "https://files.example.org", "d"}
	one.targets = []string{"mine"}
	repeated.repeat, repeated.links, repeated.modes = 3, []string{"1gbit/40ms"}, []string{"1MiB", "100MiB"}
	failing := synthetic(one)
	for i := range failing.Cells {
		c := &failing.Cells[i]
		for n, outcome := range records.Outcomes[2:] { // the failures
			if c.Concurrency >= 100 && (i+n)%3 > 0 {
				c.Failed[outcome] = (n + 1) * c.Concurrency / 20
				c.FirstErrors = append(c.FirstErrors, string(outcome)+": as an error is worded")
			}
		}
	}
	all := map[string][]byte{}
	for name, run := range map[string]*result.Run{"default": synthetic(defaultSweep), "five targets": synthetic(five), "one target": failing,
		"repeated": synthetic(repeated), "hostile": hostileRun(), "one cell": runOf(cell("mine", "full", 8, 9)), "jobs": runOfJobs()} {
		dir := t.TempDir()
		if name == "default" || name == "repeated" || name == "jobs" {
			writeRecords(t, dir, run, 400)
		}
		if name == "jobs" {
			writeJobs(t, dir, run)
		}
		page, err := page.Run(dir, run)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = page
	}
	return all
}

func TestPageInChromium(t *testing.T) {
	b := newBrowser(t)
	for name, page := range browserPages(t) {
		for _, width := range []int64{390, 1600} {
			for _, scheme := range []string{"light", "dark"} {
				if scheme == "dark" && name != "default" {
					continue // colours do not depend on the run
				}
				b.open(page, width, scheme)
				b.drawAll()
				if wide := js[string](b, fmt.Sprintf(tooWide, width)); wide != "" {
					t.Errorf("%s: wider than its window of %d: %s", name, width, wide)
				}
				b.picture(fmt.Sprintf("%s %d %s", name, width, scheme))
				b.clean()
			}
		}
	}
}

// A reader points at a chart, and chooses rows in every way there is.
func TestRowsAreChosenInChromium(t *testing.T) {
	b := newBrowser(t)
	run := synthetic(defaultSweep)
	dir := t.TempDir()
	writeRecords(t, dir, run, 400)
	page, err := page.Run(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	b.open(page, 1600, "light")
	explored := func(what, name string) {
		t.Helper()
		b.until(what, fmt.Sprintf(`document.getElementById("explored").textContent === %q`, name))
		for _, plot := range []string{"ttfb", "duration", "goodput"} {
			b.until(plot+" of "+name, `document.querySelector("#plot-`+plot+` svg path") !== null`)
		}
	}
	explored("at first", report.NewView(run).Worst().String())

	b.do(chromedp.Click(`a.row[href="#clients=100&link=10gbit%2F40ms&mode=1MiB"]`))
	explored("a click on the heat map", "1MiB, 100 clients, 10gbit/40ms")
	if !js[bool](b, `document.querySelector("[data-pane=link][data-value='1']").offsetHeight > 0 && document.querySelector("[data-pane=link][data-value='0']").offsetHeight === 0`) {
		t.Error("the chosen row's link is not the one that is shown")
	}
	b.do(chromedp.Focus(`a.row[href="#clients=10&link=1gbit%2F40ms&mode=full"]`), chromedp.KeyEvent("\r"))
	explored("Enter on the heat map", "full, 10 clients, 1gbit/40ms")
	b.do(chromedp.SetValue("#choose-clients", "1000"), chromedp.Evaluate(`document.getElementById("choose-clients").dispatchEvent(new Event("change"))`, nil))
	explored("the list of clients", "full, 1000 clients, 1gbit/40ms")
	b.do(chromedp.Evaluate(`history.back()`, nil))
	explored("going back", "full, 10 clients, 1gbit/40ms")

	// The middle of a chart is nearest to 10 or 100 clients.
	b.do(chromedp.Evaluate(`document.querySelector("[data-pane=link]:not(.off) .goodput").scrollIntoView({ block: "center", behavior: "instant" })`, nil))
	b.until("the chart", `document.querySelector("[data-chart='0'][data-drawn]") !== null`)
	at := b.point("tooltip", `(() => { const r = document.querySelector("[data-chart='1']").getBoundingClientRect(); return [r.x + r.width * 0.7, r.y + r.height / 2]; })()`,
		`document.querySelector("[data-chart='1'] .tip")?.textContent.includes("100 clients") && document.querySelector("[data-chart='1'] .tip").textContent.includes("gateway")`)
	b.do(chromedp.MouseClickXY(at[0], at[1]))
	explored("a click on a chart", "1MiB, 100 clients, 1gbit/40ms")

	b.do(chromedp.Evaluate(`document.querySelector("[data-pane=link]:not(.off) details").open = true; document.querySelector("[data-pane=link]:not(.off) details tbody tr td:nth-child(3)").click()`, nil))
	explored("a click on a table's row", "full, 1 client, 1gbit/40ms")

	b.do(chromedp.Evaluate(`location.hash = "clients=1000&link=10gbit%2F40ms&mode=10MiB"`, nil), chromedp.Reload())
	explored("the address", "10MiB, 1000 clients, 10gbit/40ms")
	if text := js[string](b, `document.getElementById("facts").textContent`); !strings.Contains(text, "duration p50, p95, p99") || !strings.Contains(text, "Mbit/s") {
		t.Errorf("the table says %q", text)
	}
	b.do(chromedp.Evaluate(`document.querySelector("[data-target='1']").click()`, nil))
	if js[bool](b, `[...drawn.values()].some((c) => c.getOption().legend?.[0]?.selected?.gateway !== false)`) {
		t.Error("a target that was left out is still in a chart")
	}
	b.do(chromedp.Evaluate(`document.querySelector("[name=view-1][value='2']").click(); document.querySelector("[data-pane=link]:not(.off) [data-pane=view]:not(.off)").scrollIntoView({ block: "center", behavior: "instant" })`, nil))
	b.until("the stacked bars", `document.querySelector("[data-pane=link]:not(.off) [data-pane=view]:not(.off) [data-drawn]") !== null`)
	b.point("tooltip of bars", `(() => { const r = document.querySelector("[data-pane=link]:not(.off) [data-pane=view]:not(.off) [data-drawn]").getBoundingClientRect(); return [r.x + r.width / 2, r.y + 22]; })()`,
		`/1 client, raw.*ok\d+ \(/.test(document.querySelector("[data-pane=link]:not(.off) [data-pane=view]:not(.off) .tip")?.textContent)`)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.problems) > 0 {
		t.Errorf("the page complains: %s", strings.Join(b.problems, "\n"))
	}
}

// Paper shows what the choices hide.
func TestAllIsPrintedInChromium(t *testing.T) {
	b := newBrowser(t)
	page, err := page.Run(t.TempDir(), synthetic(defaultSweep))
	if err != nil {
		t.Fatal(err)
	}
	b.open(page, 1600, "dark")
	b.until("the explorer", `document.querySelector("#plot-goodput svg path") !== null`)
	// As a browser prints: first the event, then the page laid out for A4 less its margins.
	b.do(chromedp.Evaluate(`dispatchEvent(new Event("beforeprint"))`, nil),
		emulation.SetEmulatedMedia().WithMedia("print"), emulation.SetDeviceMetricsOverride(718, 1000, 1, false))
	if left := js[int](b, `[...document.querySelectorAll("[data-chart], details")].filter((e) => !(e.dataset.drawn || e.open) || e.offsetHeight === 0).length`); left > 0 {
		t.Errorf("%d charts and tables are not printed", left)
	}
	if wide := js[float64](b, `Math.max(...[...document.querySelectorAll("svg")].map((e) => e.getBoundingClientRect().right))`); wide > 718 {
		t.Errorf("charts are %v pixels wide on paper", wide)
	}
	if ink := js[string](b, `drawn.get(document.querySelector("[data-chart]")).getOption().textStyle.color`); ink != js[string](b, `themes.light.textStyle.color`) {
		t.Errorf("the ink of a printed chart is %s", ink)
	}
	b.clean()
}
