package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"piecebench/bench/result"
)

// Markdown returns the report as GitHub-flavoured Markdown, for issues.
func Markdown(run *result.Run) string {
	v := newView(run)
	var b strings.Builder
	headline, more := v.answer()
	fmt.Fprintf(&b, "# piecebench %s\n\n**%s**\n", markdown(run.ID), markdown(headline))
	for _, s := range more {
		fmt.Fprintf(&b, "\n%s\n", paragraph(s))
	}
	if cautions := v.cautions(); len(cautions) > 0 {
		b.WriteString("\n")
		for _, f := range cautions {
			fmt.Fprintf(&b, "- **%s**: %s\n", markdown(f.kind), markdown(f.text))
		}
	}
	for _, l := range v.links {
		title, detail := l.heading()
		fmt.Fprintf(&b, "\n## %s\n", markdown(title))
		if detail != "" {
			fmt.Fprintf(&b, "\n%s\n", markdown(detail))
		}
		if len(l.rows) == 0 {
			b.WriteString("\nNo cell of this link was measured.\n")
			continue
		}
		fmt.Fprintf(&b, "\n%s\n\n", l.goodputTitle())
		v.goodput(l).markdown(&b)
		b.WriteString("\nRequests\n\n")
		v.requests(l).markdown(&b)
		if l.hasWarmupMark() {
			fmt.Fprintf(&b, "\n%s\n", warmupNote)
		}
	}
	for _, s := range v.appendix() {
		fmt.Fprintf(&b, "\n## %s\n\n", s.title)
		s.table.markdown(&b)
	}
	b.WriteString("\n## Terms\n\n")
	for _, t := range v.terms() {
		fmt.Fprintf(&b, "- **%s**: %s\n", t.Name, t.Meaning)
	}
	return b.String()
}

// markdown writes the table with its columns aligned in the source too.
func (t table) markdown(b *strings.Builder) {
	widths := make([]int, len(t.head))
	lines := make([][]string, 0, len(t.rows)+1)
	head := make([]string, len(t.head))
	for i, c := range t.head {
		head[i] = c.name
	}
	for _, row := range append([][]string{head}, t.rows...) {
		line := make([]string, len(row))
		for i, cell := range row {
			line[i] = markdown(cell)
			widths[i] = max(widths[i], 3, utf8.RuneCountInString(line[i]))
		}
		lines = append(lines, line)
	}
	for n, line := range lines {
		for i, cell := range line {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if t.head[i].right {
				cell = pad + cell
			} else {
				cell += pad
			}
			fmt.Fprintf(b, "| %s ", cell)
		}
		b.WriteString("|\n")
		if n > 0 {
			continue
		}
		for i, c := range t.head {
			if c.right {
				fmt.Fprintf(b, "|%s:", strings.Repeat("-", widths[i]+1))
			} else {
				fmt.Fprintf(b, "|%s", strings.Repeat("-", widths[i]+2))
			}
		}
		b.WriteString("|\n")
	}
}

// paragraph escapes text that begins a line, where a few more characters
// would make it a quotation or a list.
func paragraph(text string) string {
	if strings.IndexAny(text, ">+-=") == 0 {
		return "\\" + markdown(text)
	}
	return markdown(text)
}

// markdown escapes text so that it shows as it is, in a table too, and neither
// makes links nor calls people.
func markdown(text string) string {
	var b strings.Builder
	for _, r := range printable(text) {
		switch r {
		case '|', '\\', '`', '*', '_', '[', ']', '~', '#':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '<':
			b.WriteString("&lt;")
		case '&':
			b.WriteString("&amp;")
		case '@':
			b.WriteString("&#64;")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
