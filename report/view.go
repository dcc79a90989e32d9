package report

import (
	"cmp"
	"slices"
	"strings"

	"piecebench/bench/bottleneck"
	"piecebench/bench/compare"
	"piecebench/bench/detail"
	"piecebench/bench/result"
	"piecebench/bench/stats"
	"piecebench/records"
)

// baselineName is the target that others are compared with, where a run has it.
const baselineName = "raw"

// view is a run in the order in which reports show it.
type view struct {
	run     *result.Run
	targets []string // the baseline first, then as they ran
	links   []linkView
}

// linkView is everything measured over one link.
type linkView struct {
	name        string
	calibration *result.Calibration // nil where there is none
	rows        []row
}

// row is one mode and concurrency of a link, with a figure for each of the
// view's targets; nil where that target has no cell.
type row struct {
	index       int // among the rows of all links
	link, mode  string
	concurrency int
	figures     []*figures
}

// figures are one target's results in one row, all repetitions together.
type figures struct {
	cells           []result.Cell // one a repetition
	goodput         float64       // bits per second
	delivered       float64       // bits per second, those of failed requests too
	ceiling         float64       // bits per second, 0 where unknown
	ok, failed, cut int64
	charged         int64            // failed, less those that the emulated link lost
	ttfb, duration  result.Quantiles // of the middle repetition
	warmupQuantiles bool             // some include requests of the warm-up
	limitedBy       string
	because         string // the figures that decided limitedBy
	// detail is of the requests' records: nothing before readDetails.
	detail detail.Repetitions
}

// success is ok / (ok + failed), false where nothing finished.
func (f *figures) success() (float64, bool) {
	if f.ok+f.failed == 0 {
		return 0, false
	}
	return float64(f.ok) / float64(f.ok+f.failed), true
}

// share is goodput / ceiling, false where no ceiling is known.
func (f *figures) share() (float64, bool) {
	if f.ceiling <= 0 {
		return 0, false
	}
	return f.goodput / f.ceiling, true
}

// linkFull tells that a link decided: it carried nearly its ceiling, whatever
// became of it.
func (f *figures) linkFull() bool { return f.ceiling > 0 && f.delivered >= nearCeiling*f.ceiling }

func serverSeconds(c result.Cell) *float64    { return c.ServerCPUSPerGB }
func generatorSeconds(c result.Cell) *float64 { return c.GenCPUSPerGB }
func serverMB(c result.Cell) *float64         { return c.ServerRSSMB }

// mean is that of a figure over the repetitions that have it.
func (f *figures) mean(of func(result.Cell) *float64) (mean float64, ok bool) {
	sum, n := 0.0, 0
	for _, c := range f.cells {
		if v := of(c); v != nil {
			sum += *v
			n++
		}
	}
	return sum / float64(max(1, n)), n > 0
}

// compare compares a target's goodput with the baseline's, repetition by
// repetition.
func (r row) compare(target int) compare.Estimate {
	f, base := r.figures[target], r.figures[0]
	if f == nil || base == nil {
		return compare.Estimate{}
	}
	return compare.Goodput.Of(base.cells, f.cells)
}

// ratio is a target's goodput over the baseline's, false where they have no
// repetition in common or the baseline delivered nothing.
func (r row) ratio(target int) (float64, bool) {
	e := r.compare(target)
	return 1 + e.Change, e.Known
}

// ttfbRatio is a target's 95th percentile of TTFB over the baseline's: a bound where
// one of them is. False where either is missing, or both are bounds.
func (r row) ttfbRatio(target int) (ratio stats.Range, ok bool) {
	f, base := r.figures[target], r.figures[0]
	if f == nil || base == nil {
		return stats.Range{}, false
	}
	q, b := f.ttfb.P95, base.ttfb.P95
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

// judged tells that a target's goodput and the baseline's could have differed by
// what the servers do: the machine that measured decided neither.
func (r row) judged(target int) bool { return r.compare(target).Judged() }

// machineDecided tells that the ratio of some target carries machineMark.
func (r row) machineDecided() bool {
	for t := 1; t < len(r.figures); t++ {
		if e := r.compare(t); e.Known && !e.Judged() {
			return true
		}
	}
	return false
}

// timesJudged tells the same of TTFB and durations.
func (r row) timesJudged(target int) bool {
	return r.judged(target) && !r.figures[target].late() && !r.figures[0].late()
}

// late tells that the emulated delay of one of the repetitions was.
func (f *figures) late() bool { return f != nil && slices.ContainsFunc(f.cells, bottleneck.Late) }

// machine tells that the machine decided one of the repetitions.
func (f *figures) machine() bool { return slices.ContainsFunc(f.cells, bottleneck.DecidedByMachine) }

// failedShare writes the share of requests that failed.
func (f *figures) failedShare() string {
	return percent(float64(f.charged) / float64(max(1, f.ok+f.charged)))
}

// corrupt is how many requests brought a wrong byte.
func (f *figures) corrupt() (n int) {
	for _, c := range f.cells {
		n += c.Failed[records.Corrupt]
	}
	return n
}

func newView(run *result.Run) *view {
	v := &view{run: run}
	modes := map[string]int{} // mode -> order of first appearance
	for _, c := range run.Cells {
		if !slices.Contains(v.targets, c.Target) {
			v.targets = append(v.targets, c.Target)
		}
		if _, ok := modes[c.Mode]; !ok {
			modes[c.Mode] = len(modes)
		}
	}
	if i := slices.Index(v.targets, baselineName); i > 0 {
		v.targets = slices.Insert(slices.Delete(v.targets, i, i+1), 0, baselineName)
	}
	for i := range run.Calibrations {
		v.link(run.Calibrations[i].Link).calibration = &run.Calibrations[i]
	}
	type place struct {
		link, mode  string
		concurrency int
	}
	found := map[place]*row{}
	var order []*row
	for _, c := range run.Cells {
		at := place{c.Link, c.Mode, c.Concurrency}
		r := found[at]
		if r == nil {
			r = &row{link: c.Link, mode: c.Mode, concurrency: c.Concurrency, figures: make([]*figures, len(v.targets))}
			found[at] = r
			order = append(order, r)
		}
		t := slices.Index(v.targets, c.Target)
		if r.figures[t] == nil {
			r.figures[t] = &figures{}
		}
		r.figures[t].cells = append(r.figures[t].cells, c)
	}
	for _, r := range order {
		for _, f := range r.figures {
			if f != nil {
				f.combine()
			}
		}
		l := v.link(r.link)
		l.rows = append(l.rows, *r)
	}
	for i := range v.links {
		slices.SortStableFunc(v.links[i].rows, func(a, b row) int {
			return cmp.Or(cmp.Compare(modes[a.mode], modes[b.mode]), cmp.Compare(a.concurrency, b.concurrency))
		})
	}
	index := 0
	for _, l := range v.links {
		for i := range l.rows {
			l.rows[i].index = index
			index++
		}
	}
	return v
}

// readDetails reads the records in the run's folder.
func (v *view) readDetails(dir string) {
	var all []*figures
	var groups [][]result.Cell
	for _, r := range v.rows() {
		for _, f := range r.figures {
			if f != nil {
				all, groups = append(all, f), append(groups, f.cells)
			}
		}
	}
	for i, d := range detail.Read(dir, groups) {
		all[i].detail = d
	}
}

func (v *view) link(name string) *linkView {
	for i := range v.links {
		if v.links[i].name == name {
			return &v.links[i]
		}
	}
	v.links = append(v.links, linkView{name: name})
	return &v.links[len(v.links)-1]
}

// rows returns the rows of all links.
func (v *view) rows() []row {
	var all []row
	for _, l := range v.links {
		all = append(all, l.rows...)
	}
	return all
}

// hasCeiling tells whether the ceiling of a link is known.
func (l linkView) hasCeiling() bool {
	return slices.ContainsFunc(l.rows, func(r row) bool {
		return slices.ContainsFunc(r.figures, func(f *figures) bool { return f != nil && f.ceiling > 0 })
	})
}

// combine puts the repetitions together: counts and bytes add up, quantiles
// are those of the middle repetition.
func (f *figures) combine() {
	var bytes, delivered int64
	var seconds float64
	var ttfb, total []result.Quantiles
	var limits, reasons []string
	for _, c := range f.cells {
		f.ok += c.RequestsOK
		f.failed += c.RequestsFailed()
		f.charged += bottleneck.Charged(c)
		f.cut += c.RequestsCut
		bytes += c.WindowBytes
		delivered += c.Delivered()
		seconds += c.WindowS
		f.ceiling = max(f.ceiling, float64(c.CeilingBits))
		f.warmupQuantiles = f.warmupQuantiles || c.WarmupQuantiles
		ttfb, total = append(ttfb, c.TTFB), append(total, c.Duration)
		if c.LimitedBy != "" && !slices.Contains(limits, c.LimitedBy) {
			limits = append(limits, c.LimitedBy)
			reasons = append(reasons, c.Because)
		}
	}
	f.goodput, f.delivered = float64(bytes)*8/seconds, float64(delivered)*8/seconds
	f.ttfb, f.duration = middle(ttfb), middle(total)
	f.limitedBy, f.because = strings.Join(limits, ", "), strings.Join(reasons, "; ")
}

// middle are the quantiles of the middle repetition. One of which only a bound is
// known, or nothing at all as no request was answered, may lie above the others.
func middle(all []result.Quantiles) result.Quantiles {
	pick := func(of func(result.Quantiles) *result.Quantile) *result.Quantile {
		var seen []stats.Range
		for _, q := range all {
			switch q := of(q); {
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
	return result.Quantiles{
		P50: pick(func(q result.Quantiles) *result.Quantile { return q.P50 }),
		P95: pick(func(q result.Quantiles) *result.Quantile { return q.P95 }),
		P99: pick(func(q result.Quantiles) *result.Quantile { return q.P99 }),
	}
}
