package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"piecebench/bench/result"
)

// Text returns the summary that a terminal shows at the end of a run: the
// answer, the cautions, and a goodput table per link.
func Text(run *result.Run) string {
	v := newView(run)
	var b strings.Builder
	headline, more := v.answer()
	fmt.Fprintln(&b, printable(headline))
	for _, s := range more {
		fmt.Fprintln(&b, printable(s))
	}
	for _, f := range v.cautions() {
		fmt.Fprintf(&b, "! %s: %s\n", printable(f.kind), printable(f.text))
	}
	for _, l := range v.links {
		title, detail := l.heading()
		fmt.Fprintf(&b, "\n%s", printable(title))
		if detail != "" {
			fmt.Fprintf(&b, ": %s", printable(detail))
		}
		b.WriteString("\n")
		v.goodput(l).text(&b)
	}
	return b.String()
}

// text writes the table in columns of spaces.
func (t table) text(b *strings.Builder) {
	widths := make([]int, len(t.head))
	head := make([]string, len(t.head))
	for i, c := range t.head {
		head[i] = c.name
	}
	lines := append([][]string{head}, t.rows...)
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(printable(cell)))
		}
	}
	for _, line := range lines {
		var row strings.Builder
		for i, cell := range line {
			cell = printable(cell)
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if t.head[i].right {
				cell = pad + cell
			} else {
				cell += pad
			}
			row.WriteString("  " + cell)
		}
		b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
}
