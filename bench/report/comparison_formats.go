package report

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"

	"piecebench/bench/compare"
)

// ComparisonText returns a comparison for a terminal.
func ComparisonText(compared *compare.Comparison) string {
	c := newComparison(compared)
	var b strings.Builder
	fmt.Fprintln(&b, printable(c.headline()))
	for _, f := range c.cautions() {
		fmt.Fprintf(&b, "! %s: %s\n", f.kind, printable(f.text))
	}
	for _, s := range c.sections() {
		fmt.Fprintf(&b, "\n%s\n", printable(s.title))
		s.table.text(&b)
	}
	return b.String()
}

// ComparisonMarkdown returns a comparison as GitHub-flavoured Markdown.
func ComparisonMarkdown(compared *compare.Comparison) string {
	c := newComparison(compared)
	var b strings.Builder
	fmt.Fprintf(&b, "# piecebench compare\n\n**%s**\n\n", markdown(c.headline()))
	for _, f := range c.cautions() {
		fmt.Fprintf(&b, "- **%s**: %s\n", f.kind, markdown(f.text))
	}
	for _, s := range c.sections() {
		fmt.Fprintf(&b, "\n## %s\n\n", markdown(s.title))
		b.WriteString(strings.Join(s.table.markdown(), ""))
	}
	b.WriteString("\n## Terms\n\n")
	for _, t := range comparisonTerms {
		fmt.Fprintf(&b, "- **%s**: %s\n", t.Name, t.Meaning)
	}
	return b.String()
}

// ComparisonHTML returns a comparison as one page that needs no network, in
// the look of a run's report.
func ComparisonHTML(compared *compare.Comparison) ([]byte, error) {
	style, err := pageFiles.ReadFile("page/page.css")
	if err != nil {
		return nil, err
	}
	c := newComparison(compared)
	d := struct {
		Title, Headline string
		Style           template.CSS
		Cautions        []htmlCaution
		Sections        []htmlSection
		Terms           []term
	}{Title: c.sides(), Headline: c.headline(), Style: template.CSS(style), Terms: comparisonTerms}
	for _, f := range c.cautions() {
		d.Cautions = append(d.Cautions, htmlCaution{f.kind, f.text})
	}
	for _, s := range c.sections() {
		t := s.table.html(2)
		for _, row := range t.Rows {
			last := &row[len(row)-1]
			switch compare.Verdict(last.Text) {
			case compare.Better:
				last.Class = "better"
			case compare.Worse:
				last.Class = "worse"
			}
		}
		d.Sections = append(d.Sections, htmlSection{Title: s.title, Table: t})
	}
	var buf bytes.Buffer
	if err := pages.ExecuteTemplate(&buf, "comparison.html", d); err != nil {
		return nil, fmt.Errorf("comparison as HTML: %w", err)
	}
	return buf.Bytes(), nil
}
