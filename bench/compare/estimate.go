package compare

import (
	"math"
	"slices"

	"piecebench/bench/result"
	"piecebench/bench/stats"
)

// Confidence is the level of every interval of a comparison. A sweep has hundreds of figures:
// at 0.95, one in 20 would be marked better or worse between identical servers.
const Confidence = 0.99

// DefaultMargin is the default of the difference that does not matter. An interval within it
// shows that there is no difference.
const DefaultMargin = 0.05

// Verdict is what a comparison shows.
type Verdict string

const (
	Better       Verdict = "better"        // the interval excludes "no difference"
	Worse        Verdict = "worse"         // as above
	NoDifference Verdict = "no difference" // the interval lies within the margin
	Unclear      Verdict = "unclear"       // neither, or there is no interval
	// NotJudged: the measuring machine limited a side, so the servers could not differ.
	NotJudged Verdict = "not judged"
)

// Estimate compares the second side with the first in one metric, over all repetitions that
// both have.
//
// Change is 0 where there is no difference. For the success rate it is the difference of the
// shares, else the ratio less 1. [Low, High] is its interval at Confidence. Where cut requests
// leave only bounds, Change is a lower bound (AtLeast: High is +Inf) or an upper bound (AtMost:
// Low is -1).
type Estimate struct {
	Metric          Metric
	A, B            Figure // geometric means of the repetitions; of the success rate the share of all their requests
	Repetitions     int    // that both sides have
	Change          float64
	AtLeast, AtMost bool
	Known           bool // Change exists
	Low, High       float64
	Interval        bool // Low and High exist
	// Nothing: the second side is 0 in every repetition, and the first in none.
	Nothing bool
	// MachineA and MachineB: the measuring machine decided the metric of that side in at least
	// one repetition.
	MachineA, MachineB bool
}

// Judged tells whether the servers could have differed.
func (e Estimate) Judged() bool { return !e.MachineA && !e.MachineB }

// Verdict says what the interval shows, with a margin such as DefaultMargin.
func (e Estimate) Verdict(margin float64) Verdict {
	up, down := Worse, Better
	if e.Metric.MoreIsBetter {
		up, down = Better, Worse
	}
	switch {
	case !e.Judged():
		return NotJudged
	case e.Nothing, e.Interval && e.High < 0:
		return down
	case !e.Interval:
		return Unclear
	case e.Low > 0:
		return up
	case e.Low >= -margin && e.High <= margin:
		return NoDifference
	}
	return Unclear
}

// WorseBy tells whether the whole interval is worse by more than share. If the machine limits
// only the second side, that side's own load may be why, so it counts.
func (e Estimate) WorseBy(share float64) bool {
	switch {
	case e.MachineA:
		return false
	case !e.Metric.MoreIsBetter:
		return e.Interval && e.Low > share
	}
	return e.Nothing || e.Interval && e.High < -share
}

// Noisy tells whether an interval shows neither a difference nor its absence within the margin,
// and how large a difference it could hide. A success rate is never noisy: its interval is wide
// because its requests are few.
func (e Estimate) Noisy(margin float64) (hidden float64, ok bool) {
	hidden = max(e.High, -e.Low)
	return hidden, e.Interval && !e.AtLeast && !e.AtMost && e.Verdict(margin) == Unclear && !e.Metric.IsDifference()
}

// IsDifference tells whether Change is a difference of shares, not a ratio.
func (m Metric) IsDifference() bool { return m.value == nil }

// pair is the same repetition of both sides.
type pair struct{ a, b result.Cell }

func pairs(a, b []result.Cell) (all []pair) {
	for _, x := range a {
		for _, y := range b {
			if x.Repetition == y.Repetition {
				all = append(all, pair{x, y})
			}
		}
	}
	return all
}

// Of compares b with a, the repetitions of one row. The n-th repetition of one is paired with
// the n-th of the other; those without a partner are left out.
func (m Metric) Of(a, b []result.Cell) Estimate {
	e := Estimate{Metric: m}
	both := pairs(a, b)
	e.Repetitions = len(both)
	if m.IsDifference() {
		e.shares(both)
	} else {
		e.ratios(both)
	}
	if m.machine != nil && !failsOnOneSide(a, b) {
		e.MachineA, e.MachineB = slices.ContainsFunc(a, m.machine), slices.ContainsFunc(b, m.machine)
	}
	return e
}

// shares compares success rates by the counts of all pairs.
func (e *Estimate) shares(pairs []pair) {
	var ok, ended [2]int64
	for _, p := range pairs {
		for side, c := range []result.Cell{p.a, p.b} {
			ok[side] += c.RequestsOK
			ended[side] += c.RequestsOK + c.RequestsFailed()
		}
	}
	if e.Low, e.High, e.Interval = stats.Newcombe(ok[0], ended[0], ok[1], ended[1], Confidence); e.Interval {
		e.A.Value, e.B.Value = float64(ok[0])/float64(ended[0]), float64(ok[1])/float64(ended[1])
		e.Change, e.Known = e.B.Value-e.A.Value, true
	}
}

// ratios compares by the logarithms of the pairs' ratios. A bound in b's figure makes a pair's
// ratio a lower bound, one in a's an upper bound. Then one end of the mean's interval holds and
// the other is open. Bounds on both sides give no estimate.
func (e *Estimate) ratios(pairs []pair) {
	var a, b []float64
	for _, p := range pairs {
		x, okA := e.Metric.value(p.a)
		y, okB := e.Metric.value(p.b)
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

// zeros compares by the arithmetic means where a figure is 0 and has no logarithm. Only a side
// that is 0 in every repetition shows a difference.
func (e *Estimate) zeros(a, b []float64) {
	e.A.Value, e.B.Value = mean(a), mean(b)
	if e.A.Value <= 0 {
		return
	}
	e.Known, e.Change = true, e.B.Value/e.A.Value-1
	e.Nothing = e.B.Value == 0 && slices.Min(a) > 0
}

func mean(values []float64) (m float64) {
	for _, v := range values {
		m += v / float64(len(values))
	}
	return m
}
