package report

import (
	"iter"
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
			var f *Figures
			if own := cells.Cells[target]; own != nil {
				f = combine(r, target, own)
				if t > 0 {
					f.Base = r.Figures[0]
				}
			}
			r.Figures = append(r.Figures, f)
		}
		v.Rows = append(v.Rows, r)
		l := v.Links[slices.Index(links, r.Link)]
		l.Rows = append(l.Rows, r)
	}
	return v
}

// All yields the figures of all targets in some rows.
func All(rows []*Row) iter.Seq[*Figures] {
	return func(yield func(*Figures) bool) {
		for _, r := range rows {
			for _, f := range r.Figures {
				if f != nil && !yield(f) {
					return
				}
			}
		}
	}
}

// of yields a target's figures in all rows.
func (v *View) of(target string) iter.Seq[*Figures] {
	return func(yield func(*Figures) bool) {
		for f := range All(v.Rows) {
			if f.Target == target && !yield(f) {
				return
			}
		}
	}
}

// has tells whether something holds for the figures of any target in some rows.
func has(rows []*Row, holds func(*Figures) bool) bool {
	return slices.ContainsFunc(slices.Collect(All(rows)), holds)
}

// ReadDetails reads the records in the run's folder.
func (v *View) ReadDetails(dir string) {
	var groups [][]result.Cell
	for f := range All(v.Rows) {
		groups = append(groups, f.Cells)
	}
	details := detail.Read(dir, groups)
	for f := range All(v.Rows) {
		f.Detail, details = details[0], details[1:]
	}
}

// HasCeiling tells whether the ceiling of a link is known.
func (l *Link) HasCeiling() bool {
	return has(l.Rows, func(f *Figures) bool { return f.Ceiling > 0 })
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

// Worst is the row in which a target falls behind most, by goodput. Without a comparison
// it is the row with the most clients of the first link. Nil where there is no row.
func (v *View) Worst() (worst *Row) {
	least := 0.0
	for f := range All(v.Rows) {
		if ratio, ok := f.Ratio(); ok && f.Judged() && (worst == nil || ratio < least) {
			worst, least = f.Row, ratio
		}
	}
	if worst == nil && len(v.Links) > 0 && len(v.Links[0].Rows) > 0 {
		worst = v.Links[0].Rows[len(v.Links[0].Rows)-1]
	}
	return worst
}
