package compare

import (
	"slices"

	"piecebench/bench/bottleneck"
	"piecebench/bench/result"
)

// Lack is what one side lacks.
type Lack string

const (
	NoRepetition Lack = "missing"           // the repetition is not there
	NoGoodput    Lack = "delivered nothing" // no goodput in its window
	NoFigure     Lack = "not known"         // the repetition has no such figure
)

// Gap is something that a comparison lacks: there it cannot show a regression.
type Gap struct {
	Place
	Second     bool   // side B lacks it, else A
	Repetition int    // 0 for all
	Metric     string // of NoFigure
	Lack       Lack
}

// Gaps returns what is missing or zero in the rows that both sides have. OnlyA and OnlyB are
// not among them. Runs that searched capacities chose their cells, and so lack none.
func (c *Comparison) Gaps() (all []Gap) {
	if c.searches() {
		return nil
	}
	for _, row := range c.Rows {
		for side, own := range [][]result.Cell{row.a, row.b} {
			others := [][]result.Cell{row.b, row.a}[side]
			add := func(repetition int, metric string, lack Lack) {
				all = append(all, Gap{row.Place, side == 1, repetition, metric, lack})
			}
			for _, x := range others {
				if !slices.ContainsFunc(own, func(y result.Cell) bool { return y.Repetition == x.Repetition }) {
					add(x.Repetition, "", NoRepetition)
				}
			}
			for _, y := range own {
				if y.WindowBytes == 0 {
					add(y.Repetition, "", NoGoodput)
				}
			}
			for _, m := range c.Metrics {
				for _, y := range own {
					if m.lacks(y) && y.WindowBytes > 0 && slices.ContainsFunc(others, func(x result.Cell) bool { return x.Repetition == y.Repetition && !m.lacks(x) }) {
						add(y.Repetition, m.Name, NoFigure)
					}
				}
			}
		}
	}
	return all
}

// lacks tells whether a cell has no figure where every cell should have one. Success rates may
// be missing, because no long request ended within the window, and so may the CPU time of
// servers outside the lab.
func (m Metric) lacks(c result.Cell) bool {
	if m.IsDifference() || m.unseen {
		return false
	}
	_, ok := m.value(c)
	return !ok
}

// Incomplete returns the runs that lack planned cells.
func (c *Comparison) Incomplete() (runs []*result.Run) {
	for _, r := range slices.Compact([]*result.Run{c.A.Run, c.B.Run}) {
		if len(r.Cells) < r.Planned {
			runs = append(runs, r)
		}
	}
	return runs
}

// failsOnOneSide tells whether the requests of one side mostly fail and those of the other do
// not. That is a finding, whatever limited the machine.
func failsOnOneSide(a, b []result.Cell) bool {
	return slices.ContainsFunc(a, bottleneck.Failing) != slices.ContainsFunc(b, bottleneck.Failing)
}
