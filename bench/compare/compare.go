// Package compare compares two runs, or two targets of one run, and says which differences are
// more than noise.
package compare

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"piecebench/bench/result"
	"piecebench/bench/settings"
	"piecebench/bench/stats"
)

// Side is one of the two that are compared.
type Side struct {
	Run *result.Run
	// Target is the only one compared; empty for all, each with its namesake.
	Target string
}

// Comparison is side B against side A.
type Comparison struct {
	A, B         Side
	Differences  []Difference // in machine, settings and links; none within one run
	Metrics      []Metric     // in which each row is compared
	Rows         []Row        // that both sides have, in A's order
	Margin       float64      // the difference that does not matter: DefaultMargin, or as set
	OnlyA, OnlyB []Place
}

// Place names a row of one target.
type Place struct {
	result.Conditions
	Target string // of A, if the two sides' targets have different names
}

func (p Place) String() string { return p.Target + ", " + p.Conditions.String() }

// Row is a target under the same conditions on both sides.
type Row struct {
	Place
	Estimates []Estimate // one for each of Comparison.Metrics
	a, b      []result.Cell
}

// CountsFailed tells whether the goodput of a side includes bytes of failed requests.
func (r Row) CountsFailed() bool {
	return slices.ContainsFunc(r.a, result.Cell.CountsFailed) || slices.ContainsFunc(r.b, result.Cell.CountsFailed)
}

// Runs compares b with a, row by row. targets is nil, or names one target of a and one of b to
// compare instead of those with the same name; then a and b may be the same run.
func Runs(a, b *result.Run, targets []string) (*Comparison, error) {
	c := &Comparison{A: Side{Run: a}, B: Side{Run: b}, Margin: DefaultMargin, Metrics: metricsOf(a, b)}
	switch {
	case targets == nil:
	case len(targets) != 2 || targets[0] == "" || targets[1] == "":
		return nil, fmt.Errorf("%q does not name two targets: the first run's and the second's, such as raw,gateway", strings.Join(targets, ","))
	default:
		c.A.Target, c.B.Target = targets[0], targets[1]
	}
	if of, with := settings.WorkloadOf(a.Settings), settings.WorkloadOf(b.Settings); of != with {
		return nil, fmt.Errorf("run %s is of WORKLOAD=%s, and run %s of WORKLOAD=%s: their clients did different things, so no figure of one compares with the other's", a.ID, of, b.ID, with)
	}
	if a != b {
		c.Differences = differences(a, b)
	}
	cellsA, orderA, err := c.A.cells(c.A.Target)
	if err != nil {
		return nil, err
	}
	cellsB, orderB, err := c.B.cells(c.A.Target)
	if err != nil {
		return nil, err
	}
	for _, place := range orderA {
		if cellsB[place] == nil {
			c.OnlyA = append(c.OnlyA, place)
			continue
		}
		row := Row{Place: place, a: cellsA[place], b: cellsB[place]}
		for _, m := range c.Metrics {
			row.Estimates = append(row.Estimates, m.Of(row.a, row.b))
		}
		c.Rows = append(c.Rows, row)
	}
	for _, place := range orderB {
		if cellsA[place] == nil {
			c.OnlyB = append(c.OnlyB, place)
		}
	}
	if c.searches() { // which choose their rows
		c.OnlyA, c.OnlyB = nil, nil
	} else if len(c.Rows) == 0 {
		return nil, errors.New("the two have no row in common: same link, mode, concurrency and target (--targets compares different ones)")
	}
	return c, nil
}

// cells returns a side's cells by place, and the places in the order of the sweep. name
// replaces the side's one target in the places.
func (s Side) cells(name string) (cells map[Place][]result.Cell, order []Place, err error) {
	cells = map[Place][]result.Cell{}
	targets := s.Run.Targets()
	for _, row := range s.Run.Rows() {
		for _, target := range targets {
			if own := row.Cells[target]; own != nil && (s.Target == "" || s.Target == target) {
				place := Place{row.Conditions, cmp.Or(name, target)}
				cells[place] = own
				order = append(order, place)
			}
		}
	}
	if len(cells) == 0 && s.Target != "" {
		return nil, nil, fmt.Errorf("run %s has no cell of target %s; it has: %s", s.Run.ID, s.Target, strings.Join(targets, ", "))
	}
	return cells, order, nil
}

// Finding is one figure of one row.
type Finding struct {
	Place
	Estimate
}

// Judged returns how many rows have a first metric that can show how the servers differ.
func (c *Comparison) Judged() (n int) {
	for _, row := range c.Rows {
		if row.Estimates[0].Judged() {
			n++
		}
	}
	return n
}

// Regressions returns the figures whose whole interval is worse by more than share. Without
// repetitions no figure has an interval, which is an error.
func (c *Comparison) Regressions(share float64) ([]Finding, error) {
	var found []Finding
	shown := false
	for _, row := range c.Rows {
		for _, e := range row.Estimates {
			shown = shown || e.Interval && !e.Metric.IsDifference()
			if e.WorseBy(share) {
				found = append(found, Finding{row.Place, e})
			}
		}
	}
	if !shown && found == nil {
		return nil, fmt.Errorf("no row has %d repetitions on both sides, so no interval can show a regression: measure with REPEAT=5", stats.LeastForInterval)
	}
	return found, nil
}
