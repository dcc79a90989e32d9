package result

import (
	"piecebench/bench/stats"
	"piecebench/records"
)

// Times are what one request shows of its times by the end of the window.
type Times struct {
	TTFB     Time
	Duration Time
	Transfer Time // the duration without connecting
}

// Time is a time that was seen to its end or, right-censored, only up to an age.
type Time struct {
	Ms    float64
	Ended bool
}

// AddTo adds the time to an estimate in milliseconds.
func (t Time) AddTo(s *stats.Survival) {
	if t.Ended {
		s.Ended(t.Ms)
	} else {
		s.Censored(t.Ms)
	}
}

// TimesOf returns the times of a request that started before the window's end.
func TimesOf(r records.Request, window records.Window) Times {
	age := min(r.DurationNs, window.EndNs-r.StartUnixNs)
	// The clock of a request that is still without a first byte started when it
	// was written, so after redirects and connecting.
	connected := max(0, age-r.ConnectNs-r.TLSNs)
	waited := max(0, connected-r.RedirectNs)
	ok := !isCut(r, window) && r.Outcome == records.OK
	times := Times{TTFB: timeOf(waited, false), Duration: timeOf(age, ok), Transfer: timeOf(connected, ok)}
	if r.TTFBNs > 0 {
		// The first byte of an error, or of the wrong range, is not the first
		// byte of what was asked for.
		wrong := r.Outcome == records.Status || r.Outcome == records.Range
		times.TTFB = timeOf(r.TTFBNs, !wrong)
	}
	return times
}

func timeOf(ns int64, ended bool) Time { return Time{float64(ns) / 1e6, ended} }

// Observes tells whether a request is among those that the cell's quantiles
// are of: see Summarise.
func (c Cell) Observes(r records.Request, window records.Window) bool {
	return r.StartUnixNs < window.EndNs && (c.WarmupQuantiles || r.StartUnixNs >= window.StartNs)
}

// isCut tells that a request was still running at the window's end.
func isCut(r records.Request, window records.Window) bool {
	return r.Outcome == records.Cut || r.StartUnixNs+r.DurationNs > window.EndNs
}
