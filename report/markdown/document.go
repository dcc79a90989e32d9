package markdown

import (
	"fmt"
	"html"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"piecebench/report"
)

// maxLength is how many characters an issue or a comment on GitHub may have. Bytes are counted,
// of which there are never fewer.
const maxLength = 65536

// part is text, or the lines of a table: its head, and its rows. Tables with a high rank are
// cut first.
type part struct {
	text       string
	head, rows []string
	rank       int
}

type document []part

func (d *document) add(format string, args ...any) {
	*d = append(*d, part{text: fmt.Sprintf(format, args...)})
}

// Document returns a document that fits into an issue.
func Document(r report.Document) string {
	var d document
	d.add("# piecebench %s\n", escape(r.Title))
	if r.Headline != "" {
		d.add("\n**%s**\n", escape(r.Headline))
	}
	for _, s := range r.More {
		d.add("\n%s\n", paragraph(s))
	}
	for i, c := range r.Cautions {
		if i == 0 {
			d.add("\n")
		}
		d.add("- **%s**: %s\n", escape(c.Kind), escape(c.Text))
	}
	for _, s := range r.Sections {
		d.section(s)
	}
	d.add("\n<details><summary>Terms</summary>\n\n")
	for _, t := range r.Terms {
		d.add("- **%s**: %s\n", escape(t.Name), escape(t.Meaning))
	}
	d.add("\n</details>\n")
	return d.within(maxLength, r.Elsewhere)
}

func (d *document) section(s report.Section) {
	rank := s.Rank
	if s.Fold {
		rank++
		d.add("\n<details><summary>%s</summary>\n", summary(s.Title))
	} else {
		d.add("\n## %s\n", escape(s.Title))
	}
	if s.Detail != "" {
		d.add("\n%s\n", escape(s.Detail))
	}
	if len(s.Table.Head) > 0 {
		w := s.Table.Writer(escape)
		w.Style().Markdown = table.MarkdownOptions{PadContent: true}
		lines := strings.SplitAfter(w.RenderMarkdown()+"\n", "\n")
		d.add("\n")
		*d = append(*d, part{head: lines[:2], rows: lines[2 : len(lines)-1], rank: rank})
	}
	for _, note := range s.Notes {
		d.add("\n%s\n", escape(note))
	}
	if s.Fold {
		d.add("\n</details>\n")
	}
}

// within returns the document with at most so many bytes. Tables of one rank get the same
// room.
func (d document) within(room int, elsewhere string) string {
	waiting := map[int]int{} // tables without room yet, by rank
	last := 0
	for _, p := range d {
		room -= len(p.text)
		if p.head != nil {
			waiting[p.rank]++
			last = max(last, p.rank)
		}
	}
	whole := make([]string, len(d))
	for rank := range last + 1 {
		for n, p := range d {
			switch {
			case p.head == nil:
				whole[n] = p.text
			case p.rank == rank:
				whole[n] = p.within(room/waiting[rank], elsewhere)
				room -= len(whole[n])
				waiting[rank]--
			}
		}
	}
	return strings.Join(whole, "")
}

// within returns the table with as many rows as have room, in bytes, and a count of the others.
func (p part) within(room int, elsewhere string) string {
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

// summary escapes the title of a fold, which is HTML.
func summary(title string) string {
	return html.EscapeString(strings.NewReplacer("@", "@\u200b", "#", "#\u200b").Replace(report.Printable(title)))
}

// paragraph escapes text that begins a line, where more characters have a meaning.
func paragraph(text string) string {
	if strings.IndexAny(text, ">+-=") == 0 {
		return "\\" + escape(text)
	}
	return escape(text)
}

// unseen is a space without width. GitHub looks for names and issues after it has made text of
// the Markdown: a backslash or an entity in place of the character would still call people.
const unseen = "&#8203;"

// escape makes text show as it is, also in a table. It makes no links and calls nobody.
func escape(text string) string {
	return escapes.Replace(report.Printable(text))
}

var escapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "~", `\~`,
	"@", "@"+unseen, "#", `\#`+unseen, "<", "&lt;", "&", "&amp;", "://", ":"+unseen+"//", "www.", "www"+unseen+".")
