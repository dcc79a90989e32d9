package report

import (
	"slices"
	"strconv"
	"strings"

	"piecebench/bench/stats"
)

// summaryColumn is a column of the table that shows the targets of a row side by side.
type summaryColumn struct {
	Column
	cell func(*Row) string
}

// summaryColumns always have goodput, or job times. Of the other kinds, in the order of their use, each is
// added that keeps every link's table within the width.
func (v *View) summaryColumns(width int) []summaryColumn {
	columns := []summaryColumn{
		{Left("mode"), func(r *Row) string { return r.Mode }},
		{Right("clients"), func(r *Row) string { return strconv.Itoa(r.Concurrency) }},
	}
	var ratios, goodput, ttfb []summaryColumn
	for i, name := range v.Targets {
		delivered := summaryColumn{Right(name + " Mbit/s"), func(r *Row) string { return r.Figures[i].goodputAndShare() }}
		if v.Run.HasJobs() {
			columns = append(columns, summaryColumn{Right(name + " job p50"), func(r *Row) string { return r.Figures[i].jobP50() }})
			goodput = append(goodput, delivered)
		} else {
			columns = append(columns, delivered)
		}
		ttfb = append(ttfb, summaryColumn{Right(name + " TTFB p95"), func(r *Row) string { return r.Figures[i].ttfbP95() }})
		if i > 0 {
			ratios = append(ratios, summaryColumn{Right(name + " / " + v.Targets[0]), func(r *Row) string { return ratio(r.Figures[i].Compared()) }})
		}
	}
	limits := []summaryColumn{{Left("limited by"), (*Row).limits}}
	for _, kind := range [][]summaryColumn{ratios, limits, goodput, ttfb} {
		more := slices.Concat(columns, kind)
		if !slices.ContainsFunc(v.Links, func(l *Link) bool { return tabulate(more, l.Rows).width() > width }) {
			columns = more
		}
	}
	return columns
}

func tabulate(columns []summaryColumn, rows []*Row) Table {
	t := Table{Groups: 1}
	for _, c := range columns {
		t.Head = append(t.Head, c.Column)
	}
	for _, r := range rows {
		line := Line{Row: r}
		for _, c := range columns {
			line.Cells = append(line.Cells, c.cell(r))
		}
		t.Lines = append(t.Lines, line)
	}
	return t
}

// Summary shows some rows of a link, with the targets side by side, and the notes that the
// table needs. No link's table is wider than width characters, if goodput alone is not.
func (v *View) Summary(rows []*Row, width int) (t Table, notes []string) {
	t = tabulate(v.summaryColumns(width), rows)
	has := func(sign string) bool {
		return slices.ContainsFunc(t.Lines, func(l Line) bool {
			return slices.ContainsFunc(l.Cells, func(cell string) bool { return strings.Contains(cell, sign) })
		})
	}
	var brackets []string
	if has("%)") {
		brackets = append(brackets, "the share of the link’s measured ceiling")
	}
	if has(" to ") {
		brackets = append(brackets, "of a ratio its "+Intervals)
	}
	if brackets != nil {
		notes = append(notes, "In brackets "+strings.Join(brackets, "; ")+".")
	}
	if note := v.noIntervals(); note != "" {
		notes = append(notes, note)
	}
	if has(MachineMark) {
		notes = append(notes, machineNote)
	}
	if has(limitsGap) {
		notes = append(notes, "Limited by, where it differs: "+strings.Join(v.Targets, limitsGap)+".")
	}
	if has(warmupMark) {
		notes = append(notes, WarmupNote)
	}
	return t, notes
}

// noIntervals says why no ratio has an interval, where that is so.
func (v *View) noIntervals() string {
	most := 0
	for _, f := range All(v.Rows) {
		most = max(most, f.Compared().Repetitions)
	}
	if v.Run.Capacity != nil || most == 0 || most >= stats.LeastForInterval {
		return ""
	}
	return NoInterval(most) + ": REPEAT=5 gives one."
}

// goodputAndShare writes Mbit/s, and in brackets the share of the ceiling.
func (f *Figures) goodputAndShare() string {
	if f == nil {
		return Missing
	}
	text := megabits(f.Goodput)
	if share, ok := f.Share(); ok {
		text += " (" + wholePercent(share) + ")"
	}
	return text
}

func (f *Figures) jobP50() string {
	if f == nil || f.Jobs == nil {
		return Missing
	}
	return Quantile(f.Jobs.Time.P50, f.Jobs.Warmup)
}

func (f *Figures) ttfbP95() string {
	if f == nil {
		return Missing
	}
	return Quantile(f.TTFB.P95, f.WarmupQuantiles)
}

// limitsGap stands between what limited different targets.
const limitsGap = "; "

// limits says what limited a row: once where it was the same for every target.
func (r *Row) limits() string {
	var limits []string
	for _, f := range r.Figures {
		if f == nil {
			limits = append(limits, Missing)
		} else {
			limits = append(limits, OrMissing(f.LimitedBy))
		}
	}
	if same := slices.Compact(slices.Clone(limits)); len(same) == 1 {
		return same[0]
	}
	return strings.Join(limits, limitsGap)
}

// AllFigures is a table of everything about some rows, a line for each target.
func (v *View) AllFigures(rows []*Row) Table {
	t := Table{Head: []Column{Left("mode"), Right("clients"), Left("target"), Right("Mbit/s")}, Groups: 2}
	several := len(v.Targets) > 1
	if several {
		what := "ratio to "
		if v.Run.HasJobs() {
			what = "job time / "
		}
		t.Head = append(t.Head, Right(what+v.Targets[0]))
	}
	wired := v.wired() > 0
	if wired {
		t.Head = append(t.Head, Right("overhead"))
	}
	t.Head = append(t.Head, Right("TTFB p50"), Right("TTFB p95"), Right("TTFB p99"),
		Right("duration p50"), Right("duration p95"), Right("duration p99"), Right("success"), Right("cut"))
	fairness := slices.ContainsFunc(All(rows), func(f *Figures) bool { return f.fairness() != "" })
	if fairness {
		t.Head = append(t.Head, Right("fairness"))
	}
	t.Head = append(t.Head, Left("limited by"))
	for _, f := range All(rows) {
		cells := []string{f.Row.Mode, strconv.Itoa(f.Row.Concurrency), f.Target, f.goodputAndShare()}
		switch {
		case several && f.Target == v.Targets[0]:
			cells = append(cells, "")
		case several:
			cells = append(cells, ratio(f.Compared()))
		}
		if wired {
			cells = append(cells, f.overheadText())
		}
		w := f.WarmupQuantiles
		cells = append(cells, Quantile(f.TTFB.P50, w), Quantile(f.TTFB.P95, w), Quantile(f.TTFB.P99, w),
			Quantile(f.Duration.P50, w), Quantile(f.Duration.P95, w), Quantile(f.Duration.P99, w),
			f.Success(), strconv.FormatInt(f.Cut, 10))
		if fairness {
			cells = append(cells, OrMissing(f.fairness()))
		}
		cells = append(cells, OrMissing(f.LimitedBy))
		t.Lines = append(t.Lines, Line{cells, f.Because, f.Row})
	}
	return t
}

// Success writes the share of the requests that ended which succeeded.
func (f *Figures) Success() string {
	if f.OK+f.Failed == 0 {
		return Missing
	}
	return percent(float64(f.OK) / float64(f.OK+f.Failed))
}
