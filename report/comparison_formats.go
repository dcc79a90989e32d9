package report

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"

	"piecebench/bench/compare"
)

// ComparisonText returns a comparison for a terminal. Its text is wrapped at
// width characters; tables may be wider.
func ComparisonText(compared *compare.Comparison, width int) string {
	c := newComparison(compared)
	var b strings.Builder
	b.WriteString(wrap(c.headline(), "", width))
	for _, f := range c.cautions() {
		b.WriteString(wrap(f.kind+": "+f.text, "! ", width))
	}
	for _, s := range c.sections() {
		fmt.Fprintf(&b, "\n%s\n", printable(s.title))
		s.table.text(&b)
	}
	return b.String()
}

// ComparisonMarkdown returns a comparison as GitHub-flavoured Markdown, to paste
// into an issue: the metrics after the first are folded, and the whole keeps
// below the most that an issue takes.
func ComparisonMarkdown(compared *compare.Comparison) string {
	c := newComparison(compared)
	d := markdownDocument{elsewhere: "the comparison as text and HTML"}
	d.add("# piecebench compare\n\n**%s**\n\n", markdown(c.headline()))
	for _, f := range c.cautions() {
		d.add("- **%s**: %s\n", f.kind, markdown(f.text))
	}
	for _, s := range c.sections() {
		d.section(s)
	}
	d.add("\n<details><summary>Terms</summary>\n\n")
	for _, t := range comparisonTerms {
		d.add("- **%s**: %s\n", t.Name, t.Meaning)
	}
	d.add("\n</details>\n")
	return d.String()
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
