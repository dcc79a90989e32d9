// Package cell measures one cell: it runs k6 for it, watches what it costs, and
// makes the cell's figures from the records.
package cell

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"time"

	"piecebench/bench/plan"
	"piecebench/bench/result"
	"piecebench/bench/settings"
	"piecebench/netem/client"
	"piecebench/records"
)

// Setup is what all cells of a run share.
type Setup struct {
	K6       string // the k6 binary
	Script   string // the workload's
	Manifest string
	Dir      string // the run's folder
	RunID    string
	Settings settings.Settings
	Agent    *client.Client // nil without one: then the servers' CPU is not known
	// WriteURL is where k6 pushes its metrics to while the cell runs, by
	// Prometheus' remote write; empty: nowhere.
	WriteURL string
}

// Run measures one cell. progress gets the generator's counters about once a
// second. A cell is whole or absent: what an earlier attempt left of it, and the
// records of this one if it fails, are set aside (result.SetAside).
func (s Setup) Run(ctx context.Context, c plan.Cell, progress func(records.Progress)) (measured result.Cell, err error) {
	to := s.files(c)
	if err := to.prepare(); err != nil {
		return result.Cell{}, err
	}
	if err := result.SetAside(s.Dir, fileName(c), append(to.folders(), "logs")...); err != nil {
		return result.Cell{}, err
	}
	defer func() {
		err = errors.Join(err, to.clear())
		if err != nil { // whose log stays where the error says
			err = errors.Join(err, s.SetAside(c))
		}
	}()
	watch := watch{agent: s.Agent, port: portOf(c.Target.Address()), whole: s.Settings.Requests > 0}
	if err := watch.begin(ctx); err != nil {
		return result.Cell{}, err
	}
	k6, err := s.start(c, to)
	if err != nil {
		return result.Cell{}, err
	}
	defer k6.kill()
	watch.k6 = k6
	observe := func(line records.Progress) {
		watch.observe(line)
		progress(line)
	}
	if err := k6.follow(ctx, observe, func() error { return watch.beat(ctx) }); err != nil {
		return result.Cell{}, err
	}
	did, err := watch.ran(c, s.Settings)
	if err != nil {
		return result.Cell{}, err
	}
	rows, err := records.Open(to.path(to.requests))
	if errors.Is(err, fs.ErrNotExist) {
		return result.Cell{}, fmt.Errorf("k6 did not complete its records: %s", k6.lastWords())
	}
	if err != nil {
		return result.Cell{}, err
	}
	measured = result.Cell{
		ID: c.ID, Target: c.Target.Name, Link: c.Link.String(), Mode: c.Mode.Name,
		Concurrency: c.Concurrency, Repetition: c.Repetition,
		Records: to.requests,
		Series:  watch.series,
	}
	window := rows.Window()
	if err := result.Summarise(rows.Rows(), window, &measured); err != nil {
		return result.Cell{}, err
	}
	if did.Jobs, err = s.jobs(to, &measured); err != nil {
		return result.Cell{}, err
	}
	if err := ranJobs(did, c, s.Settings); err != nil {
		return result.Cell{}, err
	}
	watch.cost(&measured)
	if measured.Evidence != nil && s.Agent == nil {
		if measured.Evidence.RTTMs, err = leastConnect(rows.Rows()); err != nil {
			return result.Cell{}, err
		}
	}
	if measured.Evidence == nil {
		measured.Evidence = &result.Evidence{}
	}
	measured.Evidence.Ran = &did
	return measured, nil
}

// jobs adds the figures of the cell's jobs, if it had any, and returns how many were
// recorded.
func (s Setup) jobs(to files, measured *result.Cell) (recorded int64, err error) {
	if to.jobs == "" {
		return 0, nil
	}
	jobs, err := records.OpenJobs(to.path(to.jobs))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // a script of one's own need not have any
	}
	if err != nil {
		return 0, err
	}
	recorded, err = result.SummariseJobs(jobs.Rows(), jobs.Window(), measured)
	if measured.Jobs != nil {
		measured.Jobs.Records = to.jobs
	}
	return recorded, err
}

// leastConnect returns the least time that a connection took to set up, in
// milliseconds: a round trip to a server of which nothing else is known.
func leastConnect(rows iter.Seq2[records.Request, error]) (float64, error) {
	var least int64
	for r, err := range rows {
		if err != nil {
			return 0, err
		}
		if r.ConnectNs > 0 && (least == 0 || r.ConnectNs < least) {
			least = r.ConnectNs
		}
	}
	return float64(least) / 1e6, nil
}

// startTimeout is how long k6 may take to its first line of progress: with a thousand
// clients it took up to 3 s on two busy cores. A variable, for tests.
var startTimeout = 60 * time.Second

const (
	// endTimeout is how long it may take from the window's end to its last line.
	endTimeout = 30 * time.Second
	// exitTimeout is how long it may take to exit once its records are complete, or not
	// wanted: what is left are pushes to a Prometheus that does not answer.
	exitTimeout = 3 * time.Second
)
