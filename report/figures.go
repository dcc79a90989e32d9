package report

import (
	"slices"
	"strings"

	"piecebench/bench/bottleneck"
	"piecebench/bench/compare"
	"piecebench/bench/detail"
	"piecebench/bench/result"
	"piecebench/bench/stats"
	"piecebench/records"
)

// Figures are one target's results in one row, all repetitions together.
type Figures struct {
	Row             *Row
	Target          string
	Index           int              // of the target
	Base            *Figures         // of the baseline in this row; nil for the baseline itself
	Cells           []result.Cell    // one a repetition
	Goodput         float64          // bits per second
	Delivered       float64          // bits per second, with failed requests
	Wire            float64          // bits per second, 0 where unknown of a repetition
	Ceiling         float64          // bits per second, 0 where unknown
	OK, Failed, Cut int64            // requests
	Charged         int64            // failed, without those that the emulated link lost
	TTFB, Duration  result.Quantiles // of the middle repetition
	WarmupQuantiles bool             // some include requests of the warm-up
	LimitedBy       string           // the bottlenecks of the repetitions: "link, host"
	Because         string           // the figures that show it
	Jobs            *Jobs            // nil where the clients run none
	Detail          detail.Repetitions
}

// Repetition returns the figures of one repetition alone. It is compared with nothing.
func (f *Figures) Repetition(i int) *Figures {
	one := combine(f.Row, f.Target, f.Cells[i:i+1])
	if i < len(f.Detail.Each) {
		one.Detail.Pooled = f.Detail.Each[i]
	}
	return one
}

// combine puts repetitions together. Counts and bytes add up; quantiles are those of the
// middle repetition.
func combine(row *Row, target string, cells []result.Cell) *Figures {
	f := &Figures{Row: row, Target: target, Cells: cells}
	var bytes, delivered int64
	var seconds, wire float64
	wired := true
	var ttfb, total []result.Quantiles
	var limits, reasons []string
	for _, c := range cells {
		f.OK += c.RequestsOK
		f.Failed += c.RequestsFailed()
		f.Charged += bottleneck.Charged(c)
		f.Cut += c.RequestsCut
		bytes += c.WindowBytes
		delivered += c.Delivered()
		seconds += c.WindowS
		sent, ok := c.WireBytes()
		wire += sent
		wired = wired && ok
		f.Ceiling = max(f.Ceiling, float64(c.CeilingBits))
		f.WarmupQuantiles = f.WarmupQuantiles || c.WarmupQuantiles
		ttfb, total = append(ttfb, c.TTFB), append(total, c.Duration)
		if c.LimitedBy != "" && !slices.Contains(limits, c.LimitedBy) {
			limits = append(limits, c.LimitedBy)
			reasons = append(reasons, c.Because)
		}
	}
	f.Goodput, f.Delivered = float64(bytes)*8/seconds, float64(delivered)*8/seconds
	if wired {
		f.Wire = wire * 8 / seconds
	}
	f.TTFB, f.Duration = middleOf(ttfb), middleOf(total)
	f.Jobs = combineJobs(cells)
	f.LimitedBy, f.Because = strings.Join(limits, ", "), strings.Join(reasons, "; ")
	return f
}

// middle returns the quantile of the middle repetition. One without a value, or with only a
// lower bound, may lie above the others.
func middle(all []*result.Quantile) *result.Quantile {
	var seen []stats.Range
	for _, q := range all {
		switch {
		case q == nil:
			seen = append(seen, stats.AtLeast(0))
		case q.Bound:
			seen = append(seen, stats.AtLeast(q.Ms))
		default:
			seen = append(seen, stats.Exactly(q.Ms))
		}
	}
	m, ok := stats.Middle(seen)
	if !ok || m.Low == 0 && !m.Known() {
		return nil
	}
	return &result.Quantile{Ms: m.Low, Bound: !m.Known()}
}

func middleOf(all []result.Quantiles) result.Quantiles {
	pick := func(of func(result.Quantiles) *result.Quantile) *result.Quantile {
		var quantiles []*result.Quantile
		for _, q := range all {
			quantiles = append(quantiles, of(q))
		}
		return middle(quantiles)
	}
	return result.Quantiles{
		P50: pick(func(q result.Quantiles) *result.Quantile { return q.P50 }),
		P95: pick(func(q result.Quantiles) *result.Quantile { return q.P95 }),
		P99: pick(func(q result.Quantiles) *result.Quantile { return q.P99 }),
	}
}

// nearCeiling is the share of a link's ceiling from which goodput cannot tell two targets
// apart: the link decides.
const nearCeiling = 0.9

// Share is goodput / ceiling, false where no ceiling is known.
func (f *Figures) Share() (float64, bool) {
	if f.Ceiling <= 0 {
		return 0, false
	}
	return f.Goodput / f.Ceiling, true
}

// linkFull tells whether the link was nearly full, with failed requests too.
func (f *Figures) linkFull() bool { return f.Ceiling > 0 && f.Delivered >= nearCeiling*f.Ceiling }

// Mean is the mean of a figure over the repetitions that have it.
func (f *Figures) Mean(of func(result.Cell) *float64) (mean float64, ok bool) {
	sum, n := 0.0, 0
	for _, c := range f.Cells {
		if v := of(c); v != nil {
			sum += *v
			n++
		}
	}
	return sum / float64(max(1, n)), n > 0
}

// Failures counts the failed requests of one outcome.
func (f *Figures) Failures(outcome records.Outcome) (n int) {
	for _, c := range f.Cells {
		n += c.Failed[outcome]
	}
	return n
}

// Compared compares goodput with the baseline's, or job time where clients run jobs,
// repetition by repetition.
func (f *Figures) Compared() compare.Estimate {
	switch {
	case f == nil || f.Base == nil:
		return compare.Estimate{}
	case f.Jobs != nil && f.Base.Jobs != nil:
		return compare.JobTime.Of(f.Base.Cells, f.Cells)
	}
	return compare.Goodput.Of(f.Base.Cells, f.Cells)
}

// Standing is by which factor a target is better than the baseline: more goodput, or less job
// time. It is false where they have no repetition in common or one has no figure.
func (f *Figures) Standing() (float64, bool) {
	e := f.Compared()
	if e.Known && !e.Metric.MoreIsBetter {
		return 1 / (1 + e.Change), true
	}
	return 1 + e.Change, e.Known
}

// ttfbRatio is the 95th percentile of TTFB over the baseline's, or a bound of it. It is false
// where either is missing or both are bounds.
func (f *Figures) ttfbRatio() (ratio stats.Range, ok bool) {
	if f.Base == nil {
		return stats.Range{}, false
	}
	q, b := f.TTFB.P95, f.Base.TTFB.P95
	if q == nil || b == nil || b.Ms <= 0 || q.Bound && b.Bound {
		return stats.Range{}, false
	}
	switch v := q.Ms / b.Ms; {
	case q.Bound:
		return stats.AtLeast(v), true
	case b.Bound:
		return stats.Range{High: v}, true
	default:
		return stats.Exactly(v), true
	}
}

// Judged tells whether goodput and the baseline's could differ because of the servers: the
// measuring machine limited neither.
func (f *Figures) Judged() bool { return f.Compared().Judged() }

// timesJudged tells the same of TTFB and duration.
func (f *Figures) timesJudged() bool {
	return f.Judged() && !slices.ContainsFunc(f.Cells, bottleneck.Late) && !slices.ContainsFunc(f.Base.Cells, bottleneck.Late)
}

// byMachine tells whether the measuring machine limited a repetition.
func (f *Figures) byMachine() bool { return slices.ContainsFunc(f.Cells, bottleneck.DecidedByMachine) }
