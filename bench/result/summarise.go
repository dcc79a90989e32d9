package result

import (
	"errors"
	"iter"
	"slices"
	"strconv"
	"time"

	"piecebench/bench/stats"
	"piecebench/records"
)

// maxErrors is how many different errors of a cell are kept as text.
const maxErrors = 5

// Summarise fills in the figures of a cell that come from its requests:
// window, counts, bytes, errors and quantiles. cell.Concurrency must be set.
//
// Counts are of the requests that ended inside the window, and of those that
// were still running at its end (cut). What ended during the warm-up is in
// none of them. A corrupt answer is counted whenever it came, also in the
// warm-up: wrong data must not pass unseen. WindowBytes are those received inside
// the window by requests that succeeded or were cut without a fault,
// DeliveredBytes those of all.
//
// Quantiles are of the requests that started inside the window, cut ones
// right-censored at the age they had. Choosing by the end instead, or by
// overlap, would favour long requests: the longer one is, the likelier it
// is to be running at any given moment. Where fewer requests than there are
// clients both started and ended inside the window, it shows too little of
// them, and the quantiles are of all requests since the warm-up began
// (cell.WarmupQuantiles).
//
// A failed request is censored at the age at which it failed: it never
// delivered, so it must not pass for a fast one. Cells in which all requests
// failed have no quantiles.
func Summarise(rows iter.Seq2[records.Request, error], window records.Window, cell *Cell) error {
	if window.EndNs <= window.StartNs {
		return errors.New("the records name no measured window")
	}
	cell.WindowStart = time.Unix(0, window.StartNs).UTC()
	cell.WindowS = float64(window.EndNs-window.StartNs) / 1e9
	cell.RequestsOK, cell.RequestsCut, cell.WindowBytes, cell.DeliveredBytes = 0, 0, 0, 0
	cell.Verified, cell.VerifiedBytes = 0, 0
	cell.Failed, cell.FailedStatus, cell.FirstErrors = map[records.Outcome]int{}, nil, nil

	share := make(map[int32]float64, cell.Concurrency) // of WindowBytes, by client
	var inside, all cohort                             // requests started inside the window; all requests
	for r, err := range rows {
		if err != nil {
			return err
		}
		corrupt := r.Outcome == records.Corrupt
		if corrupt {
			cell.addFailure(r)
		}
		end := r.StartUnixNs + r.DurationNs
		if r.StartUnixNs >= window.EndNs {
			continue
		}
		cut := isCut(r, window)
		all.add(r, cut, window)
		if r.StartUnixNs >= window.StartNs {
			inside.add(r, cut, window)
		}
		if end <= window.StartNs {
			continue
		}
		cell.DeliveredBytes += r.WindowBytes
		if r.Outcome == records.OK || r.Outcome == records.Cut {
			cell.WindowBytes += r.WindowBytes
			share[r.Client] += float64(r.WindowBytes)
		}
		if r.VerifiedBytes > 0 {
			cell.Verified++
			cell.VerifiedBytes += r.VerifiedBytes
		}
		switch {
		case corrupt:
		case cut:
			cell.RequestsCut++
		case r.Outcome == records.OK:
			cell.RequestsOK++
		default:
			cell.addFailure(r)
		}
	}
	cell.Fairness = jain(share, cell.Concurrency)
	population := &inside
	cell.WarmupQuantiles = inside.ended < cell.Concurrency && all.size > inside.size
	if cell.WarmupQuantiles {
		population = &all
	}
	cell.TTFB, cell.Duration = Quantiles{}, Quantiles{}
	if population.failed < population.size {
		cell.TTFB, cell.Duration = quantiles(&population.ttfb), quantiles(&population.duration)
	}
	return nil
}

// jain returns Jain's index of fairness of n clients, some of which may have got nothing: 1
// if all got the same, 1/n if one got everything. Nil where none got anything.
func jain(share map[int32]float64, n int) *float64 {
	var sum, squares float64
	for _, x := range share {
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return nil
	}
	index := sum * sum / (float64(n) * squares)
	return &index
}

// cohort is a set of requests chosen by when they started.
type cohort struct {
	ttfb, duration      stats.Survival // milliseconds
	size, ended, failed int            // ended: ok or failed, not cut
}

func (c *cohort) add(r records.Request, cut bool, window records.Window) {
	c.size++
	if !cut {
		c.ended++
		if r.Outcome != records.OK {
			c.failed++
		}
	}
	seen := TimesOf(r, window)
	seen.Duration.AddTo(&c.duration)
	seen.TTFB.AddTo(&c.ttfb)
}

func quantiles(s *stats.Survival) Quantiles {
	return Quantiles{P50: quantileOf(s, 0.50), P95: quantileOf(s, 0.95), P99: quantileOf(s, 0.99)}
}

// quantileOf returns nil where nothing was seen.
func quantileOf(s *stats.Survival, p float64) *Quantile {
	ms, bound, ok := s.Quantile(p)
	if !ok {
		return nil
	}
	return &Quantile{Ms: ms, Bound: bound}
}

// addFailure counts a failed request and keeps the first few different errors.
func (c *Cell) addFailure(r records.Request) {
	c.Failed[r.Outcome]++
	if r.Outcome == records.Status && r.Status > 0 { // else it was no HTTP
		if c.FailedStatus == nil {
			c.FailedStatus = map[string]int{}
		}
		c.FailedStatus[strconv.Itoa(int(r.Status))]++
	}
	text := string(r.Outcome)
	if r.Error != "" {
		text += ": " + r.Error
	}
	if len(c.FirstErrors) < maxErrors && !slices.Contains(c.FirstErrors, text) {
		c.FirstErrors = append(c.FirstErrors, text)
	}
}
