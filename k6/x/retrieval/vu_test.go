package retrieval

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/metrics"
	"gopkg.in/guregu/null.v3"

	"piecebench/internal/testset"
	"piecebench/records"
)

// vu is a VU without the rest of k6.
type vu struct {
	ctx     context.Context
	runtime *sobek.Runtime
	state   *lib.State
	pending chan struct{} // one for each callback that was enqueued
}

func (v *vu) Context() context.Context         { return v.ctx }
func (v *vu) Events() (none common.Events)     { return none }
func (v *vu) InitEnv() *common.InitEnvironment { return nil }
func (v *vu) State() *lib.State                { return v.state }
func (v *vu) Runtime() *sobek.Runtime          { return v.runtime }

func (v *vu) RegisterCallback() func(func() error) {
	return func(func() error) { v.pending <- struct{}{} }
}

// bench is a cell with its VUs in this process.
type bench struct {
	cell     *cell
	scenario *lib.ScenarioState
	samples  chan metrics.SampleContainer
	builtin  *metrics.BuiltinMetrics
	ctx      context.Context
}

// newBench makes a dataset of pieces of this padded size, which serve wraps, and a cell
// that begins now.
func newBench(tb testing.TB, padded int64, serve func(http.Handler) http.Handler, does records.Cell) *bench {
	tb.Helper()
	dir := tb.TempDir()
	manifest, _ := testset.Write(tb, dir, 3, padded)
	address := testset.Serve(tb, dir, serve)
	does.URL, does.Manifest = address+"/piece/{piece}", manifest
	if does.ObjectURL != "" {
		does.ObjectURL = address + does.ObjectURL
	}
	does.RecordsPath, does.JobsPath = filepath.Join(dir, "requests.parquet"), filepath.Join(dir, "jobs.parquet")

	b := &bench{samples: make(chan metrics.SampleContainer, 1000)}
	go func() {
		for range b.samples {
		}
	}()
	registry := metrics.NewRegistry()
	b.builtin = metrics.RegisterBuiltinMetrics(registry)
	log := logrus.New()
	log.SetOutput(tb.Output())
	env := &common.InitEnvironment{TestPreInitState: &lib.TestPreInitState{Logger: log, Registry: registry}}
	var err error
	if b.cell, err = newCell(does, new(process), env); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(b.cell.close)
	b.scenario = &lib.ScenarioState{StartTime: time.Now()}
	b.ctx = lib.WithScenarioState(tb.Context(), b.scenario)
	if does.Duration > 0 {
		end := b.scenario.StartTime.Add(does.Warmup + does.Duration)
		ctx, cancel := context.WithDeadline(b.ctx, end)
		tb.Cleanup(cancel)
		b.ctx = ctx
	}
	return b
}

// vu returns a VU whose scripts have the global names client and compute. Its scripts
// are interrupted when the scenario ends, as k6 does it.
func (b *bench) vu(tb testing.TB, number uint64) *vu {
	tb.Helper()
	v := &vu{ctx: b.ctx, runtime: sobek.New(), pending: make(chan struct{}, 100)}
	v.runtime.SetFieldNameMapper(common.FieldNameMapper{})
	v.state = &lib.State{
		Options:        lib.Options{BatchPerHost: null.IntFrom(6)},
		BuiltinMetrics: b.builtin, Dialer: new(net.Dialer), Samples: b.samples, VUID: number, VUIDGlobal: number,
		Tags: lib.NewVUStateTags(metrics.NewRegistry().RootTagSet()),
	}
	object := v.runtime.NewObject()
	if err := (&client{vu: v, cell: b.cell}).expose(object); err != nil {
		tb.Fatal(err)
	}
	v.runtime.Set("client", object)
	v.runtime.Set("compute", (&instance{vu: v}).compute)
	context.AfterFunc(b.ctx, func() { v.runtime.Interrupt(context.Canceled) })
	return v
}

// run runs a script.
func (v *vu) run(text string) (sobek.Value, error) { return v.runtime.RunScript("mine.js", text) }

// results closes the cell and returns its rows.
func (b *bench) results(tb testing.TB) ([]records.Request, []records.Job) {
	tb.Helper()
	b.cell.close()
	if err := b.cell.failure.Load(); err != nil {
		tb.Fatal(*err)
	}
	requests, err := records.Open(b.cell.opts.RecordsPath)
	if err != nil {
		tb.Fatal(err)
	}
	var all []records.Request
	for r, err := range requests.Rows() {
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, r)
	}
	reader, err := records.OpenJobs(b.cell.opts.JobsPath)
	if err != nil {
		tb.Fatal(err)
	}
	var jobs []records.Job
	for j, err := range reader.Rows() {
		if err != nil {
			tb.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	return all, jobs
}
