package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"piecebench/bench/result"
)

// Text returns the summary that a terminal shows at the end of a run: the
// answer, the cautions, a table per link, and with prices what a TB costs. Its
// lines are at most width characters long; only a table of many targets, or with
// long names, may be wider.
func Text(run *result.Run, width int) string {
	v := newView(run)
	var b strings.Builder
	headline, more := v.answer()
	for _, s := range append([]string{headline}, more...) {
		b.WriteString(wrap(s, "", width))
	}
	for _, f := range v.cautions() {
		b.WriteString(wrap(f.kind+": "+f.text, "! ", width))
	}
	columns := v.summaryColumns(width)
	for _, l := range v.links {
		title, detail := l.heading()
		if detail != "" {
			title += ": " + detail
		}
		b.WriteString("\n" + wrap(title, "", width))
		var table strings.Builder
		tabulate(columns, l.rows).text(&table)
		b.WriteString(table.String())
		if strings.Contains(table.String(), "; ") {
			b.WriteString(wrap("Limited by, where it differs: "+strings.Join(v.targets, "; ")+".", textGap, width))
		}
		if strings.Contains(table.String(), warmupMark) {
			b.WriteString(wrap(warmupNote, textGap, width))
		}
	}
	if costs := v.costs(); costs != nil {
		b.WriteString("\n" + wrap(costs[0].title, "", width))
		costs[0].table.text(&b)
	}
	return b.String()
}

// summaryColumn is a column of the terminal's table of a link.
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
	return strings.Join(limits, "; ")
}

// text writes the table in columns of spaces.
func (t table) text(b *strings.Builder) {
	widths := t.textWidths()
	for _, line := range t.lines() {
		text := ""
		for i, cell := range line {
			text += textGap + t.head[i].pad(printable(cell), widths[i])
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
}

// textGap stands before each column.
const textGap = "  "

// textWidths are those of the columns, in characters.
func (t table) textWidths() []int {
	widths := make([]int, len(t.head))
	for _, line := range t.lines() {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(printable(cell)))
		}
	}
	return widths
}

// textWidth is that of the whole table.
func (t table) textWidth() (all int) {
	for _, w := range t.textWidths() {
		all += len(textGap) + w
	}
	return all
}

// wrap breaks text into lines of at most width characters, each indented; of the
// first line the indentation is the text given.
func wrap(text, indent string, width int) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(printable(text)) {
		size := utf8.RuneCountInString(word)
		switch {
		case b.Len() == 0:
			b.WriteString(indent)
			column = utf8.RuneCountInString(indent)
		case column+1+size > width:
			fmt.Fprintf(&b, "\n%s", strings.Repeat(" ", utf8.RuneCountInString(indent)))
			column = utf8.RuneCountInString(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += size
	}
	return b.String() + "\n"
}
