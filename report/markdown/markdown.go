// Package markdown writes reports as GitHub-flavoured Markdown, to paste into an issue.
package markdown

import (
	"cmp"
	"fmt"
	"slices"

	"piecebench/bench/result"
	"piecebench/report"
)

// Run returns the report of a run: what a reader needs first is open, the rest is folded.
func Run(run *result.Run) string {
	v := report.NewView(run)
	d := report.Document{Title: run.ID, Cautions: v.Cautions(), Terms: v.Terms(), Elsewhere: "report.html and cells.csv"}
	d.Headline, d.More = v.Answer()
	if v.Run.Capacity != nil {
		d.Sections = v.Capacity()
		d.More = nil // its notes are the same
	}
	for _, l := range v.Links {
		d.Sections = append(d.Sections, sections(v, l)...)
	}
	d.Sections = append(append(d.Sections, v.Costs()...), report.Section{Title: "The run"})
	for _, s := range v.Background() {
		s.Fold = true
		d.Sections = append(d.Sections, s)
	}
	return Document(d)
}

// summaryWidth is how wide the open tables are, in characters: nobody scrolls sideways to read
// that much.
const summaryWidth = 120

func sections(v *report.View, l *report.Link) []report.Section {
	var open report.Section
	open.Title, open.Detail = l.Heading()
	if len(l.Rows) == 0 {
		open.Notes = []string{report.NoCell}
		return []report.Section{open}
	}
	shown := telling(v, l)
	open.Table, open.Notes = v.Summary(shown, summaryWidth)
	if len(shown) < len(l.Rows) {
		which := "furthest behind " + v.Targets[0]
		if len(v.Targets) == 1 {
			which = "with the least goodput"
		}
		open.Notes = append([]string{fmt.Sprintf("Of each mode the row %s and the middle one: %d of %d rows.", which, len(shown), len(l.Rows))}, open.Notes...)
	}
	all := []report.Section{open, {Title: "All figures", Table: v.AllFigures(l.Rows), Fold: true, Rank: 1}}
	if jobs := v.JobTable(l.Rows); len(jobs.Lines) > 0 {
		all = slices.Insert(all, 1, report.Section{Title: "Jobs", Table: jobs, Fold: true, Rank: 1})
	}
	why := report.Bottlenecks(shown)
	if slices.ContainsFunc(why.Lines, func(l report.Line) bool { return l.Cells[len(l.Cells)-1] != "" }) {
		all = append(all, report.Section{Title: "What limited them, and the figures that show it", Table: why, Fold: true})
	}
	return all
}

// fewRows are as many of a link as a reader takes in without a choice.
const fewRows = 16

// telling returns the rows of a link that tell most: all of a few, else of each mode the worst
// and the middle one.
func telling(v *report.View, l *report.Link) (told []*report.Row) {
	if len(l.Rows) <= fewRows {
		return l.Rows
	}
	for _, rows := range l.Modes() {
		byStanding := slices.Clone(rows)
		slices.SortStableFunc(byStanding, func(a, b *report.Row) int { return cmp.Compare(standing(v, a), standing(v, b)) })
		for _, r := range rows {
			if r == byStanding[0] || r == byStanding[len(byStanding)/2] {
				told = append(told, r)
			}
		}
	}
	return told
}

// standing is a row's worst ratio to the baseline; of the only target, its share of the link.
// Less is worse.
func standing(v *report.View, r *report.Row) float64 {
	if len(v.Targets) == 1 {
		if share, ok := r.Figures[0].Share(); ok {
			return share
		}
		return r.Figures[0].Goodput
	}
	least := 2.0 // of a row without a comparison, which tells least
	for _, f := range r.Figures {
		if ratio, ok := f.Standing(); ok && f.Judged() {
			least = min(least, ratio)
		}
	}
	return least
}
