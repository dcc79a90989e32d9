// Package promise computes what a provider can promise from what a run measured: figures that
// hold with a confidence of 95 %, one-sided, if those who check see the same server, path and load.
package promise

import (
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"piecebench/bench/bottleneck"
	"piecebench/bench/result"
	"piecebench/bench/stats"
	"piecebench/records"
)

const (
	// Confidence is the chance that a figure holds.
	Confidence = 0.95
	// Share is that of the requests for which bandwidth and first byte are promised: the p95.
	Share = 0.95
)

// Goals are the retrievabilities of which a Promise says how many more requests they take.
var Goals = []float64{0.95, 0.99, 0.999}

// Promise is what can be promised of one target under the same conditions.
type Promise struct {
	Target      string `json:"target"`
	Link        string `json:"link"`
	Mode        string `json:"mode"`
	Concurrency int    `json:"concurrency"`
	// Requests are those that ended, well or not, of all repetitions.
	Requests int64 `json:"requests"`
	Failed   int64 `json:"failed"`
	// Retrievability is the least share of requests that succeed; BasisPoints are the
	// same, rounded down, as deals have it.
	Retrievability float64 `json:"retrievability"`
	BasisPoints    int     `json:"retrievability_basis_points"`
	// BytesPerSecond is the rate that at least Share of the requests have, over their
	// whole duration; FirstByteMs what at least
	// Share of them need at most from their start to the first byte, connecting included.
	// They are nil where too few requests are known to promise any, and where the run's
	// records are not here (Recorded).
	Recorded       bool     `json:"recorded"`
	BytesPerSecond *float64 `json:"bandwidth_bytes_per_s"`
	FirstByteMs    *float64 `json:"first_byte_ms"`
	// Machine tells that the machine that measured, not the server, decided the figures.
	Machine bool    `json:"limited_by_measuring_machine"`
	Dealbot Dealbot `json:"dealbot"`
	More    []More  `json:"more"`
}

// Dealbot is the rule of that checker: at least 97 % of at least 200 checks.
type Dealbot struct {
	Passes bool  `json:"passes"`
	More   int64 `json:"more_checks"` // that it takes to be judged at all
}

const (
	dealbotShare  = 0.97
	dealbotChecks = 200
)

// More says what it takes to promise more.
type More struct {
	For      string `json:"for"`
	Requests int64  `json:"requests"` // more, all good; at least
}

// Of returns what can be promised by a run in dir, in the order of its rows and targets.
func Of(dir string, run *result.Run) (all []Promise, err error) {
	for _, row := range run.Rows() {
		for _, target := range run.Targets() {
			cells := row.Cells[target]
			if len(cells) == 0 {
				continue
			}
			p := Promise{Target: target, Link: row.Link, Mode: row.Mode, Concurrency: row.Concurrency}
			var first, rate []observation
			for _, c := range cells {
				p.Failed += c.RequestsFailed()
				p.Requests += c.RequestsOK + c.RequestsFailed()
				p.Machine = p.Machine || bottleneck.TimesDecidedByMachine(c)
				f, r, err := observe(filepath.Join(dir, c.Records))
				if err != nil {
					return nil, err
				}
				first, rate = append(first, f...), append(rate, r...)
			}
			p.Recorded = len(first) > 0
			p.judge(first, rate)
			all = append(all, p)
		}
	}
	return all, nil
}

func (p *Promise) judge(first, rate []observation) {
	ok := p.Requests - p.Failed
	p.Retrievability = stats.ShareAtLeast(ok, p.Requests, Confidence)
	p.BasisPoints = int(p.Retrievability * 10000)
	p.Dealbot.More = max(0, dealbotChecks-p.Requests)
	p.Dealbot.Passes = p.Dealbot.More == 0 && float64(ok) >= dealbotShare*float64(p.Requests)
	for _, goal := range Goals {
		if n := stats.MoreForShare(ok, p.Requests, goal, Confidence); n > 0 {
			p.More = append(p.More, More{"retrievability " + percent(goal), n})
		}
	}
	if !p.Recorded {
		return
	}
	if perByte, ok := atMost(rate); ok {
		bytes := 1 / perByte
		p.BytesPerSecond = &bytes
	} else {
		p.More = append(p.More, More{"bandwidth", missing(rate)})
	}
	if seconds, ok := atMost(first); ok {
		ms := seconds * 1000
		p.FirstByteMs = &ms
	} else {
		p.More = append(p.More, More{"first byte", missing(first)})
	}
}

// observation is a time of one request, in seconds or seconds per byte.
type observation struct {
	value float64 // +Inf of a request that failed, or that was cut before its end
	// room is the longest time that could have been seen: from the request's start to the
	// window's end. Whether the request takes longer than a limit is known where the limit
	// is within the room, whatever became of the request.
	room float64
}

// observe returns the times to the first byte and per byte of the requests that began in the
// window. There are none where the records are not here.
func observe(path string) (first, rate []observation, err error) {
	reader, err := records.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	window := reader.Window()
	for r, err := range reader.Rows() {
		if err != nil {
			return nil, nil, err
		}
		if r.StartUnixNs < window.StartNs || r.StartUnixNs >= window.EndNs {
			continue
		}
		room := float64(window.EndNs-r.StartUnixNs) / 1e9
		f := observation{math.Inf(1), room}
		if r.TTFBNs > 0 && (r.Outcome == records.OK || r.Outcome == records.Cut) {
			f.value = float64(r.RedirectNs+r.ConnectNs+r.TLSNs+r.TTFBNs) / 1e9
		}
		first = append(first, f)
		if r.Length <= 0 {
			continue
		}
		perByte := observation{math.Inf(1), room / float64(r.Length)}
		if r.Outcome == records.OK {
			perByte.value = float64(r.DurationNs) / 1e9 / float64(r.Length)
		}
		rate = append(rate, perByte)
	}
	return first, rate, nil
}

// tries bounds how many limits atMost looks at: each costs a look at every observation.
const tries = 200

// atMost returns the least limit, of the values that were seen, of which Share of all requests
// stay within, with Confidence: an upper bound of the quantile that supposes nothing of the
// distribution. A limit is judged by the requests that began early enough for it to be known;
// without cut requests the bound is an order statistic (David and Nagaraja, Order Statistics,
// 7.1). ok is false where too few are known.
func atMost(all []observation) (limit float64, ok bool) {
	var values []float64
	for _, o := range all {
		if !math.IsInf(o.value, 1) {
			values = append(values, o.value)
		}
	}
	slices.Sort(values)
	from := min(int(Share*float64(len(all)))/2, len(values))
	if len(values)-from > tries { // the limit is above the quantile of what was seen
		from = int(Share * float64(len(values)))
	}
	candidates := values[from:]
	for i := 0; i < len(candidates); {
		known, within := int64(0), int64(0)
		for _, o := range all {
			if o.room >= candidates[i] {
				known++
				if o.value <= candidates[i] {
					within++
				}
			}
		}
		if stats.ShareAtLeast(within, known, Confidence) >= Share {
			return candidates[i], true
		}
		if i == len(candidates)-1 {
			break
		}
		i = min(len(candidates)-1, i+max(1, len(candidates)/tries))
	}
	return 0, false
}

// missing is how many more requests it takes at least to promise a limit: as if those that
// were seen to end had stayed within it.
func missing(all []observation) int64 {
	ended := int64(0)
	for _, o := range all {
		if !math.IsInf(o.value, 1) {
			ended++
		}
	}
	return max(1, stats.MoreForShare(ended, int64(len(all)), Share, Confidence))
}
