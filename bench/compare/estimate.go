package compare

import (
	"math"
	"slices"

	"piecebench/bench/result"
	"piecebench/bench/stats"
)

// Confidence is the level of every interval of a comparison. A sweep has
// hundreds of figures: at 0.95, one in 20 of them would be marked better or
// worse between identical servers.
const Confidence = 0.99

// Verdict is what a comparison shows.
type Verdict string

const (
	Better       Verdict = "better"
	Worse        Verdict = "worse"
	NoDifference Verdict = "no difference" // the interval contains none
	// Unclear: no interval, for want of repetitions, or bounds that allow both.
	Unclear Verdict = "unclear"
)

// Estimate is how the second side stands to the first in one metric, over all
// repetitions that both have.
//
// Change is 0 where there is no difference. Of the success rate it is the
// difference of the shares, else the ratio less 1. [Low, High] is its interval
// at Confidence. Where cut requests leave only bounds, Change is a lower bound
// (AtLeast: High is +Inf) or an upper one (AtMost: Low is -1).
type Estimate struct {
	Metric          Metric
	A, B            Figure // geometric means of the repetitions; of the success rate the share of all their requests
	Repetitions     int    // that both sides have
	Change          float64
	AtLeast, AtMost bool
	Known           bool // Change exists
	Low, High       float64
	Interval        bool // Low and High exist
}

// Verdict says what the interval shows.
func (e Estimate) Verdict() Verdict {
	up, down := Worse, Better
	if e.Metric.MoreIsBetter {
		up, down = Better, Worse
	}
	switch {
	case !e.Interval:
		return Unclear
	case e.Low > 0:
		return up
	case e.High < 0:
		return down
	case math.IsInf(e.High, 1) || e.Low <= -1:
		return Unclear // an open interval that contains no difference shows nothing
	}
	return NoDifference
}

// WorseBy tells whether the whole interval is worse than no difference by more
// than share: a regression beyond it is then shown, not only seen.
func (e Estimate) WorseBy(share float64) bool {
	if e.Metric.MoreIsBetter {
		return e.Interval && e.High < -share
	}
	return e.Interval && e.Low > share
}

// Wide is the least half of an interval that is called noisy: a comparison
// should be able to show such a difference.
const Wide = 0.05

// Noisy tells whether the noise is larger than the difference and would hide
// one of more than Wide, and how large a one. A success rate has none: the
// width of its interval is that of its few requests.
func (e Estimate) Noisy() (hidden float64, ok bool) {
	hidden = max(e.High, -e.Low)
	return hidden, e.Verdict() == NoDifference && hidden > Wide && !e.Metric.IsDifference()
}

// IsDifference tells whether Change is a difference of shares, not a ratio.
func (m Metric) IsDifference() bool { return m.value == nil }

// Of compares b with a: the repetitions of one cell each. The n-th repetition
// of the one is paired with the n-th of the other, those without a partner are
// left out.
func (m Metric) Of(a, b []result.Cell) Estimate {
	e := Estimate{Metric: m}
	var pairs [][2]result.Cell
	for _, x := range a {
		for _, y := range b {
			if x.Repetition == y.Repetition {
				pairs = append(pairs, [2]result.Cell{x, y})
			}
		}
	}
	e.Repetitions = len(pairs)
	if m.IsDifference() {
		e.shares(pairs)
	} else {
		e.ratios(pairs)
	}
	return e
}

// shares compares success rates by the counts of all pairs together.
func (e *Estimate) shares(pairs [][2]result.Cell) {
	var ok, ended [2]int64
	for _, p := range pairs {
		for side, c := range p {
			ok[side] += c.RequestsOK
			ended[side] += c.RequestsOK + c.RequestsFailed()
		}
	}
	if e.Low, e.High, e.Interval = stats.Newcombe(ok[0], ended[0], ok[1], ended[1], Confidence); e.Interval {
		e.A.Value, e.B.Value = float64(ok[0])/float64(ended[0]), float64(ok[1])/float64(ended[1])
		e.Change, e.Known = e.B.Value-e.A.Value, true
	}
}

// ratios compares by the logarithms of the pairs' ratios. A bound in b's
// figure makes a pair's ratio a lower bound, one in a's an upper bound. As each
// ratio is then at least (or at most) what enters the mean, that end of the
// mean's interval holds, and the other is open. With bounds on both sides
// nothing is known.
func (e *Estimate) ratios(pairs [][2]result.Cell) {
	var a, b []float64
	for _, p := range pairs {
		x, okA := e.Metric.value(p[0])
		y, okB := e.Metric.value(p[1])
		if !okA || !okB {
			continue
		}
		e.A.Bound, e.B.Bound = e.A.Bound || x.Bound, e.B.Bound || y.Bound
		a, b = append(a, x.Value), append(b, y.Value)
	}
	if e.Repetitions = len(a); len(a) == 0 {
		return
	}
	if slices.Min(a) <= 0 || slices.Min(b) <= 0 {
		e.zeros(a, b)
		return
	}
	var sumA, sumB float64
	logs := make([]float64, len(a))
	for i := range a {
		sumA, sumB = sumA+math.Log(a[i]), sumB+math.Log(b[i])
		logs[i] = math.Log(b[i] / a[i])
	}
	n := float64(len(logs))
	e.A.Value, e.B.Value = math.Exp(sumA/n), math.Exp(sumB/n)
	if e.A.Bound && e.B.Bound {
		return
	}
	e.Known = true
	e.Change = e.B.Value/e.A.Value - 1
	e.AtLeast, e.AtMost = e.B.Bound, e.A.Bound
	low, high, ok := stats.MeanInterval(logs, Confidence)
	e.Low, e.High, e.Interval = math.Exp(low)-1, math.Exp(high)-1, ok
	if e.AtLeast {
		e.High = math.Inf(1)
	}
	if e.AtMost {
		e.Low = -1
	}
}

// zeros compares where some figure is 0 and has no logarithm: by the
// arithmetic means. Only a side that is 0 every time shows a difference.
func (e *Estimate) zeros(a, b []float64) {
	e.A.Value, e.B.Value = mean(a), mean(b)
	if e.A.Value <= 0 {
		return
	}
	e.Known, e.Change = true, e.B.Value/e.A.Value-1
	if e.B.Value == 0 && slices.Min(a) > 0 && len(a) > 1 {
		e.Low, e.High, e.Interval = -1, -1, true
	}
}

func mean(values []float64) (m float64) {
	for _, v := range values {
		m += v / float64(len(values))
	}
	return m
}
