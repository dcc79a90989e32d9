package comparison

import (
	"fmt"

	"piecebench/bench/compare"
	"piecebench/bench/readable"
	"piecebench/report"
)

// gap says what one side lacks.
func (c comparison) gap(g compare.Gap) string {
	side := c.a
	if g.Second {
		side = c.b
	}
	what := fmt.Sprintf("repetition %d of %s is missing", g.Repetition, side)
	switch g.Lack {
	case compare.NoGoodput:
		what = fmt.Sprintf("%s delivered nothing in repetition %d", side, g.Repetition)
	case compare.NoFigure:
		what = fmt.Sprintf("%s of %s is not known in repetition %d", g.Metric, side, g.Repetition)
	}
	return c.place(g.Place) + ": " + what
}

// gaps names the first few.
func (c comparison) gaps(all []compare.Gap) string {
	var names []string
	for _, g := range all {
		names = append(names, c.gap(g))
	}
	return report.Enumerate(names)
}

// Regressions says in one line which figures are worse, the first few by name.
func Regressions(c *compare.Comparison, found []compare.Finding) string {
	var names []string
	for _, r := range found {
		text := change(r.Estimate)
		if r.Interval {
			text += " (" + interval(r.Estimate) + ")"
		}
		names = append(names, fmt.Sprintf("%s, %s: %s", r.Metric.Name, newComparison(c).place(r.Place), text))
	}
	return report.Printable(report.Enumerate(names))
}

// Missing says in one line what a comparison lacks, the first few by name. It is empty where
// nothing is missing.
func Missing(compared *compare.Comparison) string {
	c := newComparison(compared)
	var names []string
	for _, r := range c.Incomplete() {
		names = append(names, fmt.Sprintf("%s has %d of %s", r.ID, len(r.Cells), readable.Count(r.Planned, "planned cell")))
	}
	for _, only := range []struct {
		places []compare.Place
		other  string
	}{{c.OnlyA, c.b}, {c.OnlyB, c.a}} {
		for _, p := range only.places {
			names = append(names, fmt.Sprintf("%s: not in %s", c.place(p), only.other))
		}
	}
	for _, g := range c.Gaps() {
		names = append(names, c.gap(g))
	}
	return report.Printable(report.Enumerate(names))
}
