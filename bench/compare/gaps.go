package compare

import (
	"slices"

	"piecebench/bench/bottleneck"
	"piecebench/bench/result"
)

// Lack is what one side lacks where the other may have it.
type Lack string

const (
	NoRepetition Lack = "missing"           // the repetition is not there
	NoGoodput    Lack = "delivered nothing" // not a byte of use in its window
	NoFigure     Lack = "not known"         // the repetition has no such figure
)

// Gap is something that a comparison lacks, so that it cannot show a regression
// there.
type Gap struct {
	Place
	Second     bool   // side B lacks it, else A
	Repetition int    // 0 for all
	Metric     string // of NoFigure
	Lack       Lack
}

// Gaps returns what is missing or zero in the cells that both sides have, in the
// order of Cells. OnlyA and OnlyB are not among them.
func (c *Comparison) Gaps() (all []Gap) {
	for _, cell := range c.Cells {
		for side, own := range [][]result.Cell{cell.a, cell.b} {
			others := [][]result.Cell{cell.b, cell.a}[side]
			add := func(repetition int, metric string, lack Lack) {
				all = append(all, Gap{cell.Place, side == 1, repetition, metric, lack})
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
			for _, m := range Metrics {
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

// lacks tells that a cell has no figure where every cell should. That no long request
// ended inside the window is usual, and so is that the CPU time of servers outside of
// the lab cannot be seen.
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

// failsOnOneSide tells that the requests of one side mostly fail and those of the
// other do not. That is a finding, whatever the machine did meanwhile.
func failsOnOneSide(a, b []result.Cell) bool {
	return slices.ContainsFunc(a, bottleneck.Failing) != slices.ContainsFunc(b, bottleneck.Failing)
}
