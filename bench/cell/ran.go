package cell

import (
	"fmt"
	"time"

	"piecebench/bench/plan"
	"piecebench/bench/result"
	"piecebench/bench/settings"
	"piecebench/bench/workload"
	"piecebench/records"
)

// windowTolerance is by how much a window may be shorter than planned: the
// scenario ends by a timer, the window is a time of the wall clock.
const windowTolerance = 50 * time.Millisecond

// ran returns what the generator ran, and an error if that is not the cell that was
// planned, or if its records are not complete.
func (w *watch) ran(c plan.Cell, v settings.Settings) (result.Ran, error) {
	if !w.last.Done {
		return result.Ran{}, fmt.Errorf("k6 ended before its records were complete: %s", w.k6.lastWords())
	}
	did, err := ran(w.last, c, v)
	did.SilenceS = w.silence.Seconds()
	return did, err
}

// ran is what a generator ran whose last line of progress this is.
func ran(last records.Progress, c plan.Cell, v settings.Settings) (result.Ran, error) {
	warmup, window := time.Duration(last.WindowStart-last.Start), time.Duration(last.WindowEnd-last.WindowStart)
	r := result.Ran{
		Clients: int(last.Clients), Requests: last.OK + last.Failed + last.Cut,
		WarmupS: warmup.Seconds(), WindowS: window.Seconds(),
	}
	other := func(what string, was, planned any) (result.Ran, error) {
		return r, fmt.Errorf("the generator ran another cell than planned: %s %v, not %v", what, was, planned)
	}
	switch whole, planned := window >= v.Duration-windowTolerance && window <= v.Duration, int64(c.Concurrency)*int64(v.Requests); {
	case r.Clients != c.Concurrency:
		return other("clients that made a request:", r.Clients, c.Concurrency)
	case warmup != v.Warmup:
		return other("warm-up:", warmup, v.Warmup)
	case v.Requests == 0 && !whole:
		return other("window:", window, v.Duration)
	// The window ends with the last request, unless its time is up before.
	case v.Requests > 0 && !workload.Of(v.Workload).Jobs && (r.Requests > planned || r.Requests < planned && !whole):
		return other("requests:", r.Requests, planned)
	}
	return r, nil
}

// ranJobs returns an error if clients ran more jobs than they were to, or fewer in a cell
// that ended before its time was up.
func ranJobs(did result.Ran, c plan.Cell, v settings.Settings) error {
	planned := int64(c.Concurrency) * int64(v.Requests)
	whole := did.WindowS >= (v.Duration - windowTolerance).Seconds()
	if planned == 0 || did.Jobs == 0 || did.Jobs == planned || did.Jobs < planned && whole {
		return nil
	}
	return fmt.Errorf("the generator ran another cell than planned: jobs: %d, not %d", did.Jobs, planned)
}
