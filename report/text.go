package report

import (
	"fmt"
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
		if len(l.rows) == 0 {
			b.WriteString(wrap(noCell, textGap, width))
			continue
		}
		t := tabulate(columns, l.rows)
		t.text(&b)
		for _, note := range v.notes(t) {
			b.WriteString(wrap(note, textGap, width))
		}
	}
	if costs := v.costs(); costs != nil {
		b.WriteString("\n" + wrap(costs[0].title, "", width))
		costs[0].table.text(&b)
	}
	return b.String()
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
