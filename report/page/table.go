package page

import (
	"strings"

	"piecebench/bench/compare"
	"piecebench/report"
)

// table is a report.Table as the template wants it.
type table struct {
	Head  []report.Column
	Lines [][]cell
}

// cell is a field of a table. Class is of the style sheet, Title has the figures behind the
// text, and Row is what it links to, if anything.
type cell struct {
	Text, Class, Title string
	Row                *report.Row
}

// clientsColumn is the column that links to the row in the explorer.
const clientsColumn = 1

func newTable(t report.Table) table {
	h := table{Head: t.Head}
	for n, l := range t.Lines {
		var cells []cell
		repeats := n > 0
		for i, text := range l.Cells {
			c := cell{Text: text, Class: class(text, i == len(l.Cells)-1)}
			if t.Head[i].Right {
				c.Class += " right"
			}
			if repeats = repeats && i < t.Groups && text == t.Lines[n-1].Cells[i]; repeats {
				c.Class += " same"
			}
			if i == clientsColumn {
				c.Row = l.Row
			}
			if i == len(l.Cells)-1 {
				c.Title = l.Why
			}
			c.Class = strings.TrimSpace(c.Class)
			cells = append(cells, c)
		}
		h.Lines = append(h.Lines, cells)
	}
	return h
}

// class colours what the machine decided and, in the last column, verdicts of a comparison.
func class(text string, last bool) string {
	switch {
	case strings.HasSuffix(text, report.MachineMark):
		return report.MachineClass
	case last && text == string(compare.Better):
		return "better"
	case last && text == string(compare.Worse):
		return "worse"
	}
	return ""
}
