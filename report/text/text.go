// Package text writes reports for a terminal.
package text

import (
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"piecebench/bench/result"
	"piecebench/report"
)

// Run writes the summary that a terminal shows at the end of a run: the answer, the cautions,
// a table for each link, and with prices the cost per TB. Only a table of many targets, or
// with long names, is wider than width characters.
func Run(run *result.Run, width int) string {
	v := report.NewView(run)
	d := report.Document{Cautions: v.Cautions()}
	d.Headline, d.More = v.Answer()
	if v.Run.Capacity != nil {
		d.Sections = v.Capacity()[:1]
		d.More = nil // its notes are the same
	}
	for _, l := range v.Links {
		s := report.Section{Notes: []string{report.NoCell}}
		s.Title, s.Detail = l.Heading()
		if len(l.Rows) > 0 {
			s.Table, s.Notes = v.Summary(l.Rows, width)
		}
		d.Sections = append(d.Sections, s)
	}
	if costs := v.Costs(); costs != nil {
		d.Sections = append(d.Sections, costs[0])
	}
	return Document(d, width)
}

// Document wraps sentences at width characters. Tables may be wider.
func Document(d report.Document, width int) string {
	var b strings.Builder
	for _, s := range append([]string{d.Headline}, d.More...) {
		b.WriteString(wrap(s, "", width))
	}
	for _, c := range d.Cautions {
		b.WriteString(wrap(c.Kind+": "+c.Text, "! ", width))
	}
	for _, s := range d.Sections {
		title := s.Title
		if s.Detail != "" {
			title += ": " + s.Detail
		}
		b.WriteString("\n" + wrap(title, "", width))
		if len(s.Table.Head) > 0 {
			w := s.Table.Writer(report.Printable)
			w.SetStyle(spaced)
			w.SuppressTrailingSpaces()
			b.WriteString(w.Render() + "\n")
		}
		for _, note := range s.Notes {
			b.WriteString(wrap(note, "  ", width))
		}
	}
	return b.String()
}

// spaced sets columns apart by spaces.
var spaced = table.Style{
	Box:    table.BoxStyle{PaddingLeft: "  "},
	Format: table.FormatOptions{Header: text.FormatDefault, Row: text.FormatDefault},
}

// wrap breaks text into lines of at most width characters. The first line begins with indent,
// the others with as many spaces.
func wrap(text, indent string, width int) string {
	margin := strings.Repeat(" ", utf8.RuneCountInString(indent))
	lines, column := "", 0
	for i, word := range strings.Fields(report.Printable(text)) {
		size := utf8.RuneCountInString(word)
		switch {
		case i == 0:
			lines, column = indent, len(margin)
		case column+1+size > width:
			lines += "\n" + margin
			column = len(margin)
		default:
			lines += " "
			column++
		}
		lines += word
		column += size
	}
	return lines + "\n"
}
