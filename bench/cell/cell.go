// Package cell measures one cell: it runs k6 for it, watches what it costs, and
// makes the cell's figures from the records.
package cell

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"piecebench/bench/plan"
	"piecebench/bench/result"
	"piecebench/bench/settings"
	"piecebench/k6/x/retrieval/record"
	"piecebench/netem/client"
)

// Setup is what all cells of a run share.
type Setup struct {
	K6       string // the k6 binary
	Script   string // k6/scripts/retrieval.js
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
// second. The records stay in the run's folder unless the cell was interrupted:
// a cell is whole or absent.
func (s Setup) Run(ctx context.Context, c plan.Cell, progress func(record.Progress)) (measured result.Cell, err error) {
	name := fileName(c)
	records := filepath.Join("requests", name+".parquet")
	logs := filepath.Join(s.Dir, "logs", name)
	defer func() {
		if err != nil {
			err = errors.Join(err, record.Remove(filepath.Join(s.Dir, records)))
		}
	}()
	k6, err := s.start(c, filepath.Join(s.Dir, records), logs)
	if err != nil {
		return result.Cell{}, err
	}
	defer k6.kill()
	watch := watch{agent: s.Agent, k6: k6, port: portOf(c.Target.URL)}
	observe := func(line record.Progress) {
		watch.observe(line)
		progress(line)
	}
	if err := k6.follow(ctx, observe, func() error { return watch.tick(ctx) }); err != nil {
		return result.Cell{}, err
	}
	rows, err := record.Open(filepath.Join(s.Dir, records))
	if err != nil {
		return result.Cell{}, err
	}
	measured = result.Cell{
		ID: c.ID, Target: c.Target.Name, Link: c.Link.String(), Mode: c.Mode.Name,
		Concurrency: c.Concurrency, Repetition: c.Repetition,
		Records: records,
		Series:  watch.series,
	}
	window := rows.Window()
	if err := result.Summarise(rows.Rows(), window, &measured); err != nil {
		return result.Cell{}, err
	}
	watch.cost(&measured)
	if measured.Evidence != nil && s.Agent == nil {
		if measured.Evidence.RTTMs, err = leastConnect(rows.Rows()); err != nil {
			return result.Cell{}, err
		}
	}
	return measured, nil
}

// leastConnect returns the least time that a connection took to set up, in
// milliseconds: a round trip to a server of which nothing else is known.
func leastConnect(rows iter.Seq2[record.Request, error]) (float64, error) {
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

// fileName names a cell's files: 007-gateway-1gbit_40ms-10MiB-100-r1.
func fileName(c plan.Cell) string {
	l := strings.NewReplacer("/", "_", "%", "pct").Replace(c.Link.String())
	return fmt.Sprintf("%03d-%s-%s-%s-%d-r%d", c.ID, c.Target.Name, l, c.Mode.Name, c.Concurrency, c.Repetition)
}

// environment is what k6/scripts/retrieval.js reads.
func (s Setup) environment(c plan.Cell, records, progress string) []string {
	v := s.Settings
	stall := "" // the script's own
	if v.Requests > 0 {
		stall = "0s" // a client waits for its requests as long as the cell may last
	}
	return append(inherited(),
		"URL="+c.Target.URL,
		"MANIFEST="+s.Manifest,
		"MODE="+c.Mode.Name,
		"CONCURRENCY="+strconv.Itoa(c.Concurrency),
		"DURATION="+v.Duration.String(),
		"WARMUP="+v.Warmup.String(),
		"REQUESTS="+strconv.Itoa(v.Requests),
		"STALL="+stall,
		"VERIFY="+strconv.FormatFloat(v.Verify, 'g', -1, 64),
		"CONNECTIONS="+v.Connections,
		"SEED="+strconv.FormatUint(v.Dataset.Seed, 10),
		"RECORDS="+records,
		"PROGRESS="+progress,
		"RUN="+s.RunID,
		"TARGET="+c.Target.Name,
		"LINK="+c.Link.String(),
		"REPETITION="+strconv.Itoa(c.Repetition),
		"K6_PROMETHEUS_RW_SERVER_URL="+s.WriteURL,
		"K6_PROMETHEUS_RW_PUSH_INTERVAL="+pushInterval.String(),
		"K6_PROMETHEUS_RW_TREND_AS_NATIVE_HISTOGRAM=true",
		// Else a cell's gauges would be seen for five minutes after its end.
		"K6_PROMETHEUS_RW_STALE_MARKERS=true",
	)
}

// pushInterval makes a dozen points of a cell of 10 s. k6 counts bytes and
// clients once a second.
const pushInterval = time.Second

// inherited returns what k6 gets of this process's environment: its own
// options, and nothing that the script could take for one of its variables.
func inherited() []string {
	var keep []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if name == "PATH" || name == "HOME" || strings.HasPrefix(name, "K6_") || strings.HasPrefix(name, "SSL_CERT_") {
			keep = append(keep, variable)
		}
	}
	return keep
}

// Timeouts of k6 around the scenario: a thousand clients took up to 3 s to
// initialise on two busy cores.
const (
	startTimeout = 60 * time.Second
	endTimeout   = 30 * time.Second
	// exitTimeout is how long k6 may take to exit once its records are complete,
	// or not wanted: the rest of it is pushes to a Prometheus that does not answer.
	exitTimeout = 3 * time.Second
)
