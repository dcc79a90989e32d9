package report

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// maxMarkdown is how many characters an issue or a comment on GitHub may have.
// Bytes are counted, of which there are never fewer.
const maxMarkdown = 65536

// importance decides which tables are cut where not all have room.
type importance int

const (
	first importance = iota
	second
	third
)

// markdownDocument is text and tables in their order.
type markdownDocument struct {
	parts     []markdownPart
	elsewhere string // where all rows are, should not all have room here
}

// markdownPart is text, or the lines of a table: its head, and its rows.
type markdownPart struct {
	text       string
	head, rows []string
	importance importance
}

func (d *markdownDocument) add(format string, args ...any) {
	d.parts = append(d.parts, markdownPart{text: fmt.Sprintf(format, args...)})
}

func (d *markdownDocument) table(i importance, t table) {
	lines := t.markdown()
	d.parts = append(d.parts, markdownPart{head: lines[:2], rows: lines[2:], importance: i})
}

// section adds a table under its title, or folded.
func (d *markdownDocument) section(s section) {
	if s.detail {
		d.fold(second, s.title, s.table)
		return
	}
	d.add("\n## %s\n\n", markdown(s.title))
	d.table(first, s.table)
}

// fold adds a table that a reader can open. What surrounds its title is HTML,
// where Markdown's escapes would show.
func (d *markdownDocument) fold(i importance, title string, t table) {
	title = html.EscapeString(strings.NewReplacer("@", "@\u200b", "#", "#\u200b").Replace(printable(title)))
	d.add("\n<details><summary>%s</summary>\n\n", title)
	d.table(i, t)
	d.add("\n</details>\n")
}

// String returns the document, with tables cut where it would be longer than
// maxMarkdown: those of the same importance get the same room.
func (d markdownDocument) String() string {
	left := maxMarkdown
	for _, p := range d.parts {
		left -= len(p.text)
	}
	whole := make([]string, len(d.parts))
	for i := first; i <= third; i++ {
		waiting := 0
		for _, p := range d.parts {
			if p.head != nil && p.importance == i {
				waiting++
			}
		}
		for n, p := range d.parts {
			if p.head != nil && p.importance == i {
				whole[n] = p.within(left/waiting, d.elsewhere)
				left -= len(whole[n])
				waiting--
			}
		}
	}
	for n, p := range d.parts {
		whole[n] += p.text
	}
	return strings.Join(whole, "")
}

// within returns the table with as many rows as there is room for, in bytes,
// and what became of the others.
func (p markdownPart) within(room int, elsewhere string) string {
	all := strings.Join(p.head, "") + strings.Join(p.rows, "")
	if len(all) <= room {
		return all
	}
	text, rest := strings.Join(p.head, ""), func(n int) string {
		return fmt.Sprintf("\n%d more rows have no room in an issue: they are in %s.\n", n, elsewhere)
	}
	for n, line := range p.rows {
		if len(text)+len(line)+len(rest(len(p.rows))) > room {
			return text + rest(len(p.rows)-n)
		}
		text += line
	}
	return text
}

// markdown returns the table's lines, the first two its head, with the columns
// aligned in the source too.
func (t table) markdown() []string {
	widths := make([]int, len(t.head))
	cells := make([][]string, 0, len(t.rows)+1)
	for _, row := range t.lines() {
		line := make([]string, len(row))
		for i, cell := range row {
			line[i] = markdown(cell)
			widths[i] = max(widths[i], 3, utf8.RuneCountInString(line[i]))
		}
		cells = append(cells, line)
	}
	rule := ""
	for i, c := range t.head {
		if c.right {
			rule += "|" + strings.Repeat("-", widths[i]+1) + ":"
		} else {
			rule += "|" + strings.Repeat("-", widths[i]+2)
		}
	}
	var lines []string
	for n, row := range cells {
		text := ""
		for i, cell := range row {
			text += "| " + t.head[i].pad(cell, widths[i]) + " "
		}
		if lines = append(lines, text+"|\n"); n == 0 {
			lines = append(lines, rule+"|\n")
		}
	}
	return lines
}

// paragraph escapes text that begins a line, where a few more characters
// would make it a quotation or a list.
func paragraph(text string) string {
	if strings.IndexAny(text, ">+-=") == 0 {
		return "\\" + markdown(text)
	}
	return markdown(text)
}

// unseen is a space of no width. GitHub looks for names and issues after the
// Markdown has become text, so that neither a backslash nor an entity in the
// character's place keeps it from calling people.
const unseen = "&#8203;"

// markdown escapes text so that it shows as it is, in a table too, and neither
// makes links nor calls people.
func markdown(text string) string {
	var b strings.Builder
	for _, r := range printable(text) {
		switch r {
		case '|', '\\', '`', '*', '_', '[', ']', '~':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '@':
			b.WriteString("@" + unseen)
		case '#':
			b.WriteString("\\#" + unseen)
		case '<':
			b.WriteString("&lt;")
		case '&':
			b.WriteString("&amp;")
		default:
			b.WriteRune(r)
		}
	}
	return strings.ReplaceAll(strings.ReplaceAll(b.String(), "://", ":"+unseen+"//"), "www.", "www"+unseen+".")
}
