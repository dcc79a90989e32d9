package report

import (
	"slices"

	"piecebench/bench/detail"
	"piecebench/bench/result"
)

// baselineName is the target that others are compared with, where a run has it.
const baselineName = "raw"

// View is a run in the order in which reports show it.
type View struct {
	Run     *result.Run
	Targets []string // the baseline first
	Links   []*Link
	Rows    []*Row // of all links
}

// Link is everything measured over one link.
type Link struct {
	Name        string
	Calibration *result.Calibration // nil where there is none
	Rows        []*Row
}

// Row compares the targets under the same conditions.
type Row struct {
	result.Conditions
	Index   int        // in View.Rows
	Figures []*Figures // of each target; nil where it has no cell
}

// NewView arranges a run.
func NewView(run *result.Run) *View {
	v := &View{Run: run, Targets: run.Targets()}
	if i := slices.Index(v.Targets, baselineName); i > 0 {
		v.Targets = slices.Insert(slices.Delete(v.Targets, i, i+1), 0, baselineName)
	}
	links := run.Links()
	for _, name := range links {
		v.Links = append(v.Links, &Link{Name: name})
	}
	for i, c := range run.Calibrations {
		v.Links[slices.Index(links, c.Link)].Calibration = &run.Calibrations[i]
	}
	for i, cells := range run.Rows() {
		r := &Row{Conditions: cells.Conditions, Index: i}
		for t, target := range v.Targets {
			r.Figures = append(r.Figures, nil)
			if own := cells.Cells[target]; own != nil {
				f := combine(r, target, own)
				r.Figures[t], f.Index = f, t
				if t > 0 {
					f.Base = r.Figures[0]
				}
			}
		}
		v.Rows = append(v.Rows, r)
		l := v.Links[slices.Index(links, r.Link)]
		l.Rows = append(l.Rows, r)
	}
	return v
}

// All returns the figures of all targets in some rows.
func All(rows []*Row) (all []*Figures) {
	for _, r := range rows {
		for _, f := range r.Figures {
			if f != nil {
				all = append(all, f)
			}
		}
	}
	return all
}

// of returns a target's figures in all rows.
func (v *View) of(target string) []*Figures {
	return slices.DeleteFunc(All(v.Rows), func(f *Figures) bool { return f.Target != target })
}

// ReadDetails reads the records in the run's folder.
func (v *View) ReadDetails(dir string) {
	all := All(v.Rows)
	var groups [][]result.Cell
	for _, f := range all {
		groups = append(groups, f.Cells)
	}
	for i, d := range detail.Read(dir, groups) {
		all[i].Detail = d
	}
}

// HasCeiling tells whether the ceiling of a link is known.
func (l *Link) HasCeiling() bool {
	return slices.ContainsFunc(All(l.Rows), func(f *Figures) bool { return f.Ceiling > 0 })
}

// Modes groups a link's rows by mode.
func (l *Link) Modes() (modes [][]*Row) {
	for i, r := range l.Rows {
		if i == 0 || l.Rows[i-1].Mode != r.Mode {
			modes = append(modes, nil)
		}
		modes[len(modes)-1] = append(modes[len(modes)-1], r)
	}
	return modes
}

// Worst is the row in which a target falls behind most, by goodput or job time. Without a comparison
// it is the row with the most clients of the first link. Nil where there is no row.
func (v *View) Worst() (worst *Row) {
	least := 0.0
	for _, f := range All(v.Rows) {
		if ratio, ok := f.Standing(); ok && f.Judged() && (worst == nil || ratio < least) {
			worst, least = f.Row, ratio
		}
	}
	if worst == nil && len(v.Links) > 0 && len(v.Links[0].Rows) > 0 {
		worst = v.Links[0].Rows[len(v.Links[0].Rows)-1]
	}
	return worst
}
