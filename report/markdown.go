package report

import (
	"cmp"
	"slices"
	"strconv"

	"piecebench/bench/result"
)

// Markdown returns the report as GitHub-flavoured Markdown, to paste into an
// issue: what a reader needs first stands open, the rest is folded, and the
// whole keeps below the most that an issue takes.
func Markdown(run *result.Run) string {
	v := newView(run)
	d := markdownDocument{elsewhere: "report.html and cells.csv"}
	headline, more := v.answer()
	d.add("# piecebench %s\n\n**%s**\n", markdown(run.ID), markdown(headline))
	for _, s := range more {
		d.add("\n%s\n", paragraph(s))
	}
	if cautions := v.cautions(); len(cautions) > 0 {
		d.add("\n")
		for _, f := range cautions {
			d.add("- **%s**: %s\n", markdown(f.kind), markdown(f.text))
		}
	}
	columns := v.summaryColumns(summaryWidth)
	for _, l := range v.links {
		v.markdownLink(&d, l, columns)
	}
	for _, s := range v.costs() {
		d.section(s)
	}
	d.add("\n## The run\n")
	for _, s := range v.background() {
		d.fold(second, s.title, s.table)
	}
	d.add("\n<details><summary>Terms</summary>\n\n")
	for _, t := range v.terms() {
		d.add("- **%s**: %s\n", t.Name, t.Meaning)
	}
	d.add("\n</details>\n")
	return d.String()
}

func (v *view) markdownLink(d *markdownDocument, l linkView, columns []summaryColumn) {
	title, detail := l.heading()
	d.add("\n## %s\n", markdown(title))
	if detail != "" {
		d.add("\n%s\n", markdown(detail))
	}
	if len(l.rows) == 0 {
		d.add("\n%s\n", noCell)
		return
	}
	shown := v.telling(l)
	if len(shown) < len(l.rows) {
		d.add("\nOf each mode the row %s and the middle one: %d of %d rows.\n", v.worstOf(), len(shown), len(l.rows))
	}
	d.add("\n")
	t := tabulate(columns, shown)
	d.table(first, t)
	for _, note := range v.notes(t) {
		d.add("\n%s\n", markdown(note))
	}
	d.fold(third, "All figures", v.cells(l.rows))
	if why := v.reasons(shown); len(why.rows) > 0 {
		d.fold(second, "What limited them, and the figures that decided it", why)
	}
}

// summaryWidth is how wide the open tables are, in characters: so much is read
// without scrolling sideways.
const summaryWidth = 120

// fewRows are as many of a link as are read without a choice.
const fewRows = 16

// telling returns the rows of a link that tell most: all of a few, else of each
// mode the worst and the middle one.
func (v *view) telling(l linkView) []row {
	if len(l.rows) <= fewRows {
		return l.rows
	}
	var told []row
	for _, m := range l.modes() {
		byStanding := slices.Clone(m.rows)
		slices.SortStableFunc(byStanding, func(a, b row) int { return cmp.Compare(v.standing(a), v.standing(b)) })
		picked := slices.Compact([]int{byStanding[0].concurrency, byStanding[len(byStanding)/2].concurrency})
		for _, r := range m.rows {
			if slices.Contains(picked, r.concurrency) {
				told = append(told, r)
			}
		}
	}
	return told
}

// standing is how the last of a row's targets stands to the baseline; of one
// target to the link. Less is worse.
func (v *view) standing(r row) float64 {
	if len(v.targets) == 1 {
		if share, ok := r.figures[0].share(); ok {
			return share
		}
		return r.figures[0].goodput
	}
	least := 2.0 // what cannot be compared tells least
	for t := 1; t < len(v.targets); t++ {
		if ratio, ok := r.ratio(t); ok && r.judged(t) {
			least = min(least, ratio)
		}
	}
	return least
}

// worstOf says what standing orders rows by.
func (v *view) worstOf() string {
	if len(v.targets) == 1 {
		return "with the least goodput"
	}
	return "furthest behind " + markdown(v.targets[0])
}

// cells tells everything of some rows, the targets one below the other.
func (v *view) cells(rows []row) table {
	t := table{head: []column{left("mode"), right("clients"), left("target"), right("Mbit/s")}}
	several := len(v.targets) > 1
	if several {
		t.head = append(t.head, right("ratio to "+v.targets[0]))
	}
	t.head = append(t.head, requestColumns...)
	for _, r := range rows {
		place := []string{r.mode, strconv.Itoa(r.concurrency)}
		for i, f := range r.figures {
			if f == nil {
				continue
			}
			line := append(place, v.targets[i], f.goodputAndShare())
			switch {
			case several && i > 0:
				line = append(line, ratio(r.compare(i)))
			case several:
				line = append(line, "")
			}
			t.rows = append(t.rows, append(line, f.requests()...))
			place = []string{"", ""}
		}
	}
	return t
}

// reasons has a line for each verdict of some rows with the figures that
// decided it.
func (v *view) reasons(rows []row) table {
	t := table{head: []column{left("mode"), right("clients"), left("target"), left("limited by"), left("because")}}
	for _, r := range rows {
		for i, f := range r.figures {
			if f != nil && f.because != "" {
				t.rows = append(t.rows, []string{r.mode, strconv.Itoa(r.concurrency), v.targets[i], f.limitedBy, f.because})
			}
		}
	}
	return t
}
