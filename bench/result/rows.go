package result

import (
	"cmp"
	"slices"

	"piecebench/bench/readable"
)

// Conditions are what the cells of one row have in common.
type Conditions struct {
	Link, Mode  string
	Concurrency int
}

// String names the conditions: "1MiB, 10 clients, 1gbit/40ms".
func (c Conditions) String() string {
	return c.Mode + ", " + readable.Count(c.Concurrency, "client") + ", " + LinkName(c.Link)
}

// LinkName is a link as a reader sees it.
func LinkName(link string) string {
	if link == "none" {
		return "no emulated link"
	}
	return link
}

// Row holds the cells of all targets under the same conditions: what a table compares.
type Row struct {
	Conditions
	Cells map[string][]Cell // the repetitions of each target
}

// Rows returns the run's cells as rows. Links and modes keep the order of the sweep;
// within a mode, rows are sorted by concurrency.
func (r *Run) Rows() []Row {
	links := r.Links()
	var modes []string
	var rows []Row
	for _, c := range r.Cells {
		modes = appendNew(modes, c.Mode)
		at := Conditions{c.Link, c.Mode, c.Concurrency}
		i := slices.IndexFunc(rows, func(row Row) bool { return row.Conditions == at })
		if i < 0 {
			i = len(rows)
			rows = append(rows, Row{at, map[string][]Cell{}})
		}
		rows[i].Cells[c.Target] = append(rows[i].Cells[c.Target], c)
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(slices.Index(links, a.Link), slices.Index(links, b.Link)),
			cmp.Compare(slices.Index(modes, a.Mode), slices.Index(modes, b.Mode)),
			cmp.Compare(a.Concurrency, b.Concurrency))
	})
	return rows
}

// Links returns the links that were calibrated or have cells, in the order of the sweep.
func (r *Run) Links() (links []string) {
	for _, c := range r.Calibrations {
		links = appendNew(links, c.Link)
	}
	for _, c := range r.Cells {
		links = appendNew(links, c.Link)
	}
	return links
}

// HasJobs tells whether clients of the run ran jobs.
func (r *Run) HasJobs() bool {
	return slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Jobs != nil })
}

// Targets returns the targets that have cells, in the order of the sweep.
func (r *Run) Targets() (targets []string) {
	for _, c := range r.Cells {
		targets = appendNew(targets, c.Target)
	}
	return targets
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
