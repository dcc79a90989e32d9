package report

import (
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Table has plain text in its cells: a form escapes it.
type Table struct {
	Head   []Column
	Lines  []Line
	Groups int // the first columns, which group the lines
}

// Column is right-aligned where it has numbers.
type Column struct {
	Name  string
	Right bool
}

// Left is a column of words.
func Left(name string) Column { return Column{name, false} }

// Right is a column of numbers.
func Right(name string) Column { return Column{name, true} }

// Line is one line of a table.
type Line struct {
	Cells []string
	Why   string // the figures behind the last cell, if any
	Row   *Row   // what the line is about, if that is a row of the run
}

// Add appends a line.
func (t *Table) Add(cells ...string) { t.Lines = append(t.Lines, Line{Cells: cells}) }

// gap stands before each column of a table of plain text.
const gap = 2

// width is that of the table as plain text, in characters.
func (t Table) width() (all int) {
	for i, c := range t.Head {
		most := utf8.RuneCountInString(c.Name)
		for _, l := range t.Lines {
			most = max(most, utf8.RuneCountInString(l.Cells[i]))
		}
		all += gap + most
	}
	return all
}

// Writer returns the table as go-pretty writes it, with every cell escaped.
func (t Table) Writer(escape func(string) string) table.Writer {
	text.OverrideRuneWidthEastAsianWidth(false) // else widths depend on the locale
	w := table.NewWriter()
	var head table.Row
	var columns []table.ColumnConfig
	for i, c := range t.Head {
		head = append(head, escape(c.Name))
		if c.Right {
			columns = append(columns, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	w.AppendHeader(head)
	w.SetColumnConfigs(columns)
	for _, l := range t.Lines {
		var row table.Row
		for _, cell := range l.Cells {
			row = append(row, escape(cell))
		}
		w.AppendRow(row)
	}
	return w
}
