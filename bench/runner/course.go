package runner

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"piecebench/bench/plan"
	"piecebench/bench/result"
)

// next returns the next cell that the run lacks and what the run takes from there, a search at
// most. It returns false after the last.
func (r *sweep) next() (c plan.Cell, left time.Duration, more bool) {
	if r.search != nil {
		return r.search.Next(r.results.Cells)
	}
	missing := slices.DeleteFunc(slices.Clone(r.cells), func(c plan.Cell) bool {
		return slices.ContainsFunc(r.results.Cells, func(done result.Cell) bool { return done.ID == c.ID })
	})
	if len(missing) == 0 {
		return c, 0, false
	}
	return missing[0], plan.CellsTime(missing, r.settings), true
}

// planned says how many cells the run has.
func (r *sweep) planned() string {
	if r.search != nil {
		return fmt.Sprintf("at most %d", r.search.MostCells())
	}
	return strconv.Itoa(len(r.cells))
}

// command is what resumes the run.
func (r *sweep) command() string {
	if r.search != nil {
		return "make capacity SLO=" + r.options.Capacity.File
	}
	return "make bench"
}
