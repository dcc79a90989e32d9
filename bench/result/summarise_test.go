package result

import (
	"errors"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"piecebench/records"
)

const second = int64(1e9)

// The window of these tests: 10 s, after 2 s of warm-up from time 0.
var window = records.Window{StartNs: 2 * second, EndNs: 12 * second}

func rows(requests ...records.Request) iter.Seq2[records.Request, error] {
	return func(yield func(records.Request, error) bool) {
		for _, r := range requests {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// request lasts from one time to another, in seconds since the warm-up began, its
// first byte ttfb seconds after it was written (0: none), which is at once.
func request(from, to, ttfb float64, outcome records.Outcome) records.Request {
	ns := func(s float64) int64 { return int64(math.Round(s * 1e9)) }
	return records.Request{
		StartUnixNs: ns(from), DurationNs: ns(to) - ns(from), TTFBNs: ns(ttfb), Outcome: outcome,
		Bytes: 1000, WindowBytes: 1000,
	}
}

func summarise(t *testing.T, concurrency int, requests ...records.Request) Cell {
	t.Helper()
	c := Cell{Concurrency: concurrency}
	if err := Summarise(rows(requests...), window, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func wantQuantile(t *testing.T, what string, q *Quantile, ms float64, bound bool) {
	t.Helper()
	switch {
	case q == nil:
		t.Errorf("%s: none, want %v ms", what, ms)
	case math.Abs(q.Ms-ms) > 1e-6 || q.Bound != bound:
		t.Errorf("%s: %+v, want %v ms, bound %v", what, *q, ms, bound)
	}
}

func TestFairnessIsOneWhereAllGetTheSame(t *testing.T) {
	get := func(client int32, bytes int64, outcome records.Outcome) records.Request {
		r := request(3, 4, 0.1, outcome)
		r.Client, r.WindowBytes = client, bytes
		return r
	}
	for _, c := range []struct {
		what     string
		requests []records.Request
		want     float64
	}{
		{"the same", []records.Request{get(1, 10, records.OK), get(2, 5, records.OK), get(2, 5, records.Cut)}, 1},
		{"one of two", []records.Request{get(1, 10, records.OK)}, 0.5},
		{"a failed one has got nothing", []records.Request{get(1, 10, records.OK), get(2, 10, records.Short)}, 0.5},
		{"three to one", []records.Request{get(1, 30, records.OK), get(2, 10, records.OK)}, 0.8},
	} {
		if got := summarise(t, 2, c.requests...).Fairness; got == nil || math.Abs(*got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
	if got := summarise(t, 2, get(1, 10, records.Short)).Fairness; got != nil {
		t.Errorf("nothing came, and the fairness is %v", *got)
	}
}

func TestCountsAreOfRequestsThatEndInTheWindow(t *testing.T) {
	before := request(0, 1.5, 0.1, records.OK)
	before.WindowBytes = 0
	after := request(12.5, 13, 0.1, records.OK)
	after.WindowBytes = 0
	failed := request(4, 5, 0.1, records.Status)
	failed.Error = "503 Service Unavailable"
	c := summarise(t, 1,
		before, after, failed, failed,
		request(1, 3, 0.1, records.OK),  // from the warm-up into the window
		request(3, 12, 0.1, records.OK), // ends as the window does
		request(11, 12, 0, records.Cut),
		request(11, 12.004, 0, records.Cut), // noticed late
		request(11, 12.5, 0.1, records.OK),  // not cut by the client, but past the window
		request(5, 6, 0, records.Connect),
	)
	if c.WindowS != 10 {
		t.Errorf("window %v s", c.WindowS)
	}
	if c.RequestsOK != 2 || c.RequestsCut != 3 || c.RequestsFailed() != 3 {
		t.Errorf("ok %d, cut %d, failed %d; want 2, 3, 3", c.RequestsOK, c.RequestsCut, c.RequestsFailed())
	}
	if c.Failed["status"] != 2 || c.Failed["connect"] != 1 {
		t.Errorf("failures %v", c.Failed)
	}
	if c.WindowBytes != 5000 || c.DeliveredBytes != 8000 {
		t.Errorf("%d bytes of use in the window, %d in all; want 5000 of 8000", c.WindowBytes, c.DeliveredBytes)
	}
	if len(c.FirstErrors) != 2 || c.FirstErrors[0] != "status: 503 Service Unavailable" {
		t.Errorf("errors %q: want each once", c.FirstErrors)
	}
}

// Bytes of no use to a client are no goodput, whenever their request ended; what
// the link carried, they are.
func TestBytesOfFailedRequestsAreNoGoodput(t *testing.T) {
	for _, outcome := range []records.Outcome{records.Corrupt, records.Short, records.Timeout, records.Stalled, records.Range, records.Status} {
		c := summarise(t, 1, request(3, 4, 0.1, records.OK), request(5, 12, 0, records.Cut),
			request(4, 5, 0.1, outcome), request(11, 12.1, 0.1, outcome))
		if c.WindowBytes != 2000 || c.DeliveredBytes != 4000 || c.Delivered() != 4000 {
			t.Errorf("%s: %d bytes of use, %d in all; want 2000 of 4000", outcome, c.WindowBytes, c.Delivered())
		}
		if c.CountsFailed() {
			t.Errorf("%s: goodput is said to count failed bytes", outcome)
		}
	}
	c := Cell{WindowS: 8, WindowBytes: 1e9, DeliveredBytes: 2e9, CeilingBits: 4e9}
	share, _ := c.LinkShare()
	use, _ := c.LinkUse()
	if c.GoodputBits() != 1e9 || c.DeliveredBits() != 2e9 || share != 0.25 || use != 0.5 {
		t.Errorf("goodput %v (%v of the ceiling), delivered %v (%v)", c.GoodputBits(), share, c.DeliveredBits(), use)
	}
	older := Cell{WindowS: 8, WindowBytes: 1e9, Failed: map[records.Outcome]int{"short": 1}}
	if older.DeliveredBits() != 1e9 || !older.CountsFailed() {
		t.Errorf("a run of before: delivered %v, counts failed bytes: %v", older.DeliveredBits(), older.CountsFailed())
	}
}

// A corrupt answer in the warm-up, or one that ends as the window has closed, is
// still one.
func TestWrongDataIsCountedWheneverItCame(t *testing.T) {
	early, late := request(0, 1, 0.1, records.Corrupt), request(11, 12.1, 0.1, records.Corrupt)
	early.WindowBytes, early.Error = 0, "wrong byte at 7"
	c := summarise(t, 1, early, late, request(3, 4, 0.1, records.OK))
	if c.Failed["corrupt"] != 2 || c.RequestsOK != 1 || c.RequestsCut != 0 || len(c.FirstErrors) == 0 || c.FirstErrors[0] != "corrupt: wrong byte at 7" {
		t.Errorf("%v failed, %d ok, %d cut, %q", c.Failed, c.RequestsOK, c.RequestsCut, c.FirstErrors)
	}
}

// A slow cell: four clients, none of which finishes anything.
func TestVerifiedBytesAndStatusesAreCounted(t *testing.T) {
	verified := func(r records.Request, bytes int64) records.Request { r.VerifiedBytes = bytes; return r }
	status := func(n int32) records.Request {
		r := request(4, 5, 0.1, records.Status)
		r.Status = n
		return r
	}
	c := summarise(t, 1,
		verified(request(0, 1, 0.1, records.OK), 1000), // of the warm-up
		verified(request(3, 4, 0.1, records.OK), 1000), verified(request(4, 5, 0.1, records.Corrupt), 200),
		verified(request(11, 12, 0.1, records.Cut), 30), request(5, 6, 0.1, records.OK),
		status(429), status(503), status(429), status(0))
	if c.Verified != 3 || c.VerifiedBytes != 1230 {
		t.Errorf("%d requests verified, %d bytes; want 3 and 1230", c.Verified, c.VerifiedBytes)
	}
	if want := map[string]int{"429": 2, "503": 1}; !maps.Equal(c.FailedStatus, want) || c.Failed["status"] != 4 {
		t.Errorf("failed by status %v of %d, want %v of 4", c.FailedStatus, c.Failed["status"], want)
	}
}

func TestCutRequestsBoundTheQuantiles(t *testing.T) {
	c := summarise(t, 4,
		request(0, 12, 0.5, records.Cut), request(0, 12, 0.7, records.Cut),
		request(0, 12, 0, records.Cut), request(0, 12, 0, records.Cut))
	if !c.WarmupQuantiles {
		t.Error("requests of the warm-up are all there is, yet are not used")
	}
	wantQuantile(t, "ttfb p50", c.TTFB.P50, 700, false)
	wantQuantile(t, "ttfb p95", c.TTFB.P95, 12000, true)
	wantQuantile(t, "duration p50", c.Duration.P50, 12000, true)
	if _, ok := c.SuccessRate(); ok {
		t.Error("a success rate exists though nothing finished")
	}
}

func TestWarmupRequestsAreLeftOutWhereTheWindowHasEnough(t *testing.T) {
	requests := []records.Request{request(0, 1.9, 1.8, records.OK), request(0, 9, 8, records.OK)}
	for i := range 8 {
		from := 2 + float64(i)
		requests = append(requests, request(from, from+1, 0.25, records.OK))
	}
	c := summarise(t, 2, requests...)
	if c.WarmupQuantiles {
		t.Error("requests of the warm-up are among the quantiles")
	}
	wantQuantile(t, "ttfb p99", c.TTFB.P99, 250, false)
	wantQuantile(t, "duration p99", c.Duration.P99, 1000, false)
}

func TestFailuresDoNotPassForFastRequests(t *testing.T) {
	var requests []records.Request
	for i := range 60 { // refused after a millisecond
		from := 2.5 + float64(i)/10
		requests = append(requests, request(from, from+0.001, 0.001, records.Status))
	}
	for i := range 40 {
		from := 2.5 + float64(i)/10
		requests = append(requests, request(from, from+2, 0.3, records.OK))
	}
	c := summarise(t, 10, requests...)
	wantQuantile(t, "ttfb p50", c.TTFB.P50, 300, false)
	wantQuantile(t, "duration p50", c.Duration.P50, 2000, false)

	c = summarise(t, 10, requests[:60]...)
	if c.TTFB.P50 != nil || c.Duration.P50 != nil {
		t.Error("a cell in which everything failed has quantiles")
	}
}

func TestTTFBOfAnUnansweredRequestCountsFromWhenItWasWritten(t *testing.T) {
	r := request(0, 12, 0, records.Cut)
	r.ConnectNs, r.TLSNs = 3*second, second
	wantQuantile(t, "ttfb p50", summarise(t, 1, r).TTFB.P50, 8000, true)
	r.RedirectNs = 2 * second
	wantQuantile(t, "redirected, ttfb p50", summarise(t, 1, r).TTFB.P50, 6000, true)
}

// Requests chosen by overlap with the window would be too long by tens of per
// cent here; a closed loop of clients with a known distribution is the truth.
func TestQuantilesAreOfWhatTheServerDoes(t *testing.T) {
	for _, c := range []struct {
		name string
		mean float64 // of the exponential duration, seconds
		tol  float64
	}{{"short requests", 0.2, 0.02}, {"long requests, 40 % cut", 7, 0.03}} {
		rng := rand.New(rand.NewPCG(7, 7))
		var requests []records.Request
		const clients = 5000
		for range clients {
			for at := 0.0; at < 12; {
				d := rng.ExpFloat64() * c.mean
				if at+d > 12 {
					requests = append(requests, request(at, 12, 0, records.Cut))
				} else {
					requests = append(requests, request(at, at+d, d, records.OK))
				}
				at += d
			}
		}
		cell := summarise(t, clients, requests...)
		truth := c.mean * math.Ln2 * 1000
		for what, q := range map[string]*Quantile{"ttfb": cell.TTFB.P50, "duration": cell.Duration.P50} {
			if q == nil || q.Bound || math.Abs(q.Ms/truth-1) > c.tol {
				t.Errorf("%s: %s p50 %+v, truth %.1f ms", c.name, what, q, truth)
			}
		}
	}
}

// A server whose TTFB is Weibull-distributed, behind a closed loop of clients
// whose requests are cut at the window's end, 40 % of all, most of them before
// their first byte: quantiles are within 2 % of the truth, and leaving the cut
// ones out is not.
func TestTTFBQuantilesWithFortyPerCentCut(t *testing.T) {
	const clients, shape, scale = 20_000, 3, 3.5 // seconds
	truth := func(p float64) float64 { return 1000 * scale * math.Pow(-math.Log(1-p), 1.0/shape) }
	rng := rand.New(rand.NewPCG(11, 12))
	var requests []records.Request
	ended, unanswered, started := 0, 0, 0
	var kept []float64
	for range clients {
		for at := rng.Float64(); at < 12; {
			ttfb := scale * math.Pow(rng.ExpFloat64(), 1.0/shape)
			end := at + ttfb + 1.1*rng.ExpFloat64() // then the body
			r := request(at, min(end, 12), ttfb, records.OK)
			if end > 12 {
				r.Outcome = records.Cut
				if at+ttfb > 12 {
					r.TTFBNs = 0
				}
			}
			if at >= 2 {
				started++
				if end <= 12 {
					ended++
					kept = append(kept, ttfb*1000)
				} else if r.TTFBNs == 0 {
					unanswered++
				}
			}
			requests = append(requests, r)
			at = end
		}
	}
	cut := 1 - float64(ended)/float64(started)
	t.Logf("%d requests started in the window, %.0f %% cut, %.0f %% without a first byte", started, 100*cut, 100*float64(unanswered)/float64(started))
	if cut < 0.39 {
		t.Fatalf("only %.0f %% are cut: the test lost its point", 100*cut)
	}
	cell := summarise(t, clients, requests...)
	for p, q := range map[float64]*Quantile{0.50: cell.TTFB.P50, 0.95: cell.TTFB.P95, 0.99: cell.TTFB.P99} {
		if q == nil || q.Bound || math.Abs(q.Ms/truth(p)-1) > 0.02 {
			t.Errorf("TTFB p%v: %+v, truth %.0f ms", 100*p, q, truth(p))
		} else {
			t.Logf("TTFB p%v: %.0f ms, truth %.0f ms", 100*p, q.Ms, truth(p))
		}
	}
	slices.Sort(kept)
	if naive := kept[len(kept)*95/100]; naive > 0.95*truth(0.95) {
		t.Errorf("without the cut requests p95 is %.0f ms, as good as the truth, %.0f: the test lost its point", naive, truth(0.95))
	}
}

func TestSummariseRefusesBrokenRecords(t *testing.T) {
	broken := errors.New("bad page")
	err := Summarise(func(yield func(records.Request, error) bool) { yield(records.Request{}, broken) }, window, &Cell{})
	if !errors.Is(err, broken) {
		t.Errorf("reader's error became %v", err)
	}
	if Summarise(rows(), records.Window{}, &Cell{}) == nil {
		t.Error("a cell without a window was accepted")
	}
}
