package report

import (
	"slices"
	"strconv"
	"strings"

	"piecebench/bench/stats"
)

// summaryColumn is a column of the table in which a link's targets stand side by
// side.
type summaryColumn struct {
	column
	cell func(row) string
}

// summaryColumns are those that have room in every link's table: always the
// goodput, and of the others, in the order in which they are wanted, each kind
// that fits beside those before it.
func (v *view) summaryColumns(width int) []summaryColumn {
	columns := []summaryColumn{
		{left("mode"), func(r row) string { return r.mode }},
		{right("clients"), func(r row) string { return strconv.Itoa(r.concurrency) }},
	}
	var ratios, ttfb []summaryColumn
	for i, name := range v.targets {
		columns = append(columns, summaryColumn{right(name + " Mbit/s"), func(r row) string { return r.figures[i].goodputAndShare() }})
		ttfb = append(ttfb, summaryColumn{right(name + " TTFB p95"), func(r row) string { return r.figures[i].ttfbP95() }})
		if i > 0 {
			ratios = append(ratios, summaryColumn{right(name + " / " + v.targets[0]), func(r row) string { return ratio(r.compare(i)) }})
		}
	}
	limits := []summaryColumn{{left("limited by"), v.limits}}
	for _, kind := range [][]summaryColumn{ratios, limits, ttfb} {
		more := slices.Concat(columns, kind)
		if !slices.ContainsFunc(v.links, func(l linkView) bool { return tabulate(more, l.rows).textWidth() > width }) {
			columns = more
		}
	}
	return columns
}

func tabulate(columns []summaryColumn, rows []row) table {
	var t table
	for _, c := range columns {
		t.head = append(t.head, c.column)
	}
	for _, r := range rows {
		var line []string
		for _, c := range columns {
			line = append(line, c.cell(r))
		}
		t.rows = append(t.rows, line)
	}
	return t
}

// notes explain what a table of summaryColumns has in it.
func (v *view) notes(t table) []string {
	has := func(sign string) bool {
		return slices.ContainsFunc(t.rows, func(line []string) bool {
			return slices.ContainsFunc(line, func(cell string) bool { return strings.Contains(cell, sign) })
		})
	}
	var notes []string
	var brackets []string
	if has("%)") {
		brackets = append(brackets, "the share of the link’s measured ceiling")
	}
	if has(" to ") {
		brackets = append(brackets, "of a ratio its "+intervals)
	}
	if brackets != nil {
		notes = append(notes, "In brackets "+strings.Join(brackets, "; ")+".")
	}
	if note := v.noIntervals(); note != "" {
		notes = append(notes, note)
	}
	if has(machineMark) {
		notes = append(notes, machineNote)
	}
	if has(limitsGap) {
		notes = append(notes, "Limited by, where it differs: "+strings.Join(v.targets, limitsGap)+".")
	}
	if has(warmupMark) {
		notes = append(notes, warmupNote)
	}
	return notes
}

// noIntervals says why ratios have no interval, where none has one.
func (v *view) noIntervals() string {
	most := 0
	for _, r := range v.rows() {
		for t := 1; t < len(r.figures); t++ {
			most = max(most, r.compare(t).Repetitions)
		}
	}
	switch {
	case most == 0 || most >= stats.LeastForInterval:
		return ""
	case most == 1:
		return "One repetition allows no interval: REPEAT=5 gives one."
	}
	return "Two repetitions allow no interval: REPEAT=5 gives one."
}

// limitsGap stands between what limited different targets.
const limitsGap = "; "

func (f *figures) ttfbP95() string {
	if f == nil {
		return missing
	}
	return quantile(f.ttfb.P95, f.warmupQuantiles)
}

// limits says what limited a row: once where it was the same for every target,
// else in their order.
func (v *view) limits(r row) string {
	var limits []string
	for _, f := range r.figures {
		if f == nil {
			limits = append(limits, missing)
		} else {
			limits = append(limits, orMissing(f.limitedBy))
		}
	}
	if same := slices.Compact(slices.Clone(limits)); len(same) == 1 {
		return same[0]
	}
	return strings.Join(limits, limitsGap)
}
