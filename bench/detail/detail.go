// Package detail reads what run.json does not have from the records of the requests: the
// distributions of TTFB and duration, and the phases of a request.
package detail

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"

	"piecebench/bench/result"
	"piecebench/records"
)

// Detail is what the records of one cell show, or of several together. It is of the same
// requests as the cell's quantiles (result.Summarise).
type Detail struct {
	TTFB, Duration Distribution
	JobTime        Distribution // where clients run jobs; of the same jobs as the cell's quantiles
	Phases         Phases
}

// Repetitions are the details of one target in one row.
type Repetitions struct {
	Pooled Detail
	Each   []Detail // one a cell, in their order; zero without records
	Absent int      // cells whose records are not there
	Broken int      // cells whose records cannot be read
}

// Read returns the details of groups of cells of the run in dir. A group has the repetitions of
// one target in one row. As many groups are read at once as there are CPUs; a request takes 64
// bytes while its group is read.
func Read(dir string, groups [][]result.Cell) []Repetitions {
	all := make([]Repetitions, len(groups))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, cells := range groups {
		g.Go(func() error { all[i] = readGroup(dir, cells); return nil })
	}
	_ = g.Wait() // what cannot be read is counted
	return all
}

func readGroup(dir string, cells []result.Cell) Repetitions {
	r := Repetitions{Each: make([]Detail, len(cells))}
	var pooled sample
	for i, c := range cells {
		// A run may come from somebody else: its paths must stay in its folder.
		if !filepath.IsLocal(c.Records) {
			r.Absent++
			continue
		}
		recorded, err := records.Open(filepath.Join(dir, c.Records))
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				r.Absent++
			} else {
				r.Broken++
			}
			continue
		}
		one, err := read(c, recorded)
		if err == nil && c.Jobs != nil && filepath.IsLocal(c.Jobs.Records) {
			err = one.readJobs(*c.Jobs, filepath.Join(dir, c.Jobs.Records))
		}
		if err != nil {
			r.Broken++
			continue
		}
		if len(cells) == 1 {
			pooled = one
		} else {
			pooled.merge(&one)
		}
		r.Each[i] = one.detail()
	}
	r.Pooled = pooled.detail()
	return r
}
