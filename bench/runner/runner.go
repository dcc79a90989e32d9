// Package runner carries out a sweep: it calibrates each link, runs the cells
// and keeps the results. It knows URLs only: whether a lab brought the servers
// up, or they are somebody's own, is not its concern.
package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"piecebench/bench/capacity"
	"piecebench/bench/cell"
	"piecebench/bench/fingerprint"
	"piecebench/bench/plan"
	"piecebench/bench/result"
	"piecebench/bench/series"
	"piecebench/bench/settings"
	"piecebench/bench/workload"
	"piecebench/host"
	"piecebench/internal/wholefile"
	"piecebench/netem/client"
	"piecebench/netem/link"
	"piecebench/piece"
	"piecebench/piece/pieceurl"
	"piecebench/piece/verify"
	"piecebench/records"
	"piecebench/servers"
	"piecebench/version"
)

// Options are what a run needs beside its settings.
type Options struct {
	Manifest   string           // path of pieces.json
	Out        string           // the run's folder, made by Run unless Resume
	Resume     bool             // Out holds a run: run only what it lacks
	K6         string           // path of the k6 binary
	Scripts    string           // folder of piecebench's own k6 scripts
	Agent      string           // URL of the link agent on the control network; empty without one
	AgentToken string           // that the link agent wants; empty for none
	Shaped     string           // URL of the link agent through the link
	Targets    string           // the lab's targets: name=URL,name=URL
	ServerLog  string           // folder of the servers' logs, copied into the run's; may be empty
	Prometheus string           // base URL of the Prometheus that gets series by remote write; empty without one
	Grafana    string           // base URL of Grafana as the user's browser sees it; may be empty
	LabGoes    bool             // the lab, and its Prometheus, are removed after the run
	Capacity   *capacity.Limits // what to search the most clients for; nil: run the planned sweep
	Progress   io.Writer
	Report     func(dir string) error // writes the reports of the run in dir; may be nil
}

// ErrInterrupted is returned, wrapped, when ctx ended before the sweep did. The
// cells that are complete are kept.
var ErrInterrupted = errors.New("interrupted")

// linkLease is for how long the link agent keeps a link when it hears nothing of
// the runner, which may also be because nothing gets through that link.
const linkLease = time.Minute

// Run carries out the sweep. Bad input and a bad environment are found before
// anything is written.
func Run(ctx context.Context, s settings.Settings, o Options) error {
	manifest, err := piece.Load(o.Manifest)
	if err != nil {
		return err
	}
	lab := s.LabServers()
	if s.Targets, err = resolve(s.Targets, o.Targets); err != nil {
		return err
	}
	if err := settings.CheckURLs(s.Workload, s.Targets); err != nil {
		return err
	}
	if err := checkModes(s, manifest, filepath.Dir(o.Manifest)); err != nil {
		return err
	}
	if err := errors.Join(plan.CheckDescriptors(s), plan.CheckPorts(s)); err != nil {
		return err
	}
	var search *capacity.Search
	if o.Capacity != nil {
		if search, err = capacity.New(s, *o.Capacity); err != nil {
			return err
		}
	}
	var agent *client.Client
	if o.Agent != "" {
		if agent, err = client.New(o.Agent, o.AgentToken); err != nil {
			return err
		}
		if _, err := agent.Link(ctx); err != nil {
			return err
		}
		defer agent.Keep(linkLease)()
	} else if s.Links[0] != link.None || len(s.Links) > 1 {
		return fmt.Errorf("LINKS=%s: no link agent here to set a link with: use make bench, or --links none", s.Text["LINKS"])
	}
	for _, t := range s.Targets {
		if err := checkAnswers(ctx, t, manifest.Pieces[0], s.Insecure); err != nil {
			return err
		}
	}
	status := newStatus(o.Progress)
	pusher, err := series.NewPusher(o.Prometheus, status.done)
	if err != nil {
		return err
	}
	r := &sweep{
		settings: s, options: o, agent: agent, lab: lab,
		files:    localFiles(manifest, filepath.Dir(o.Manifest)),
		manifest: manifest,
		cells:    plan.Cells(s),
		search:   search,
		status:   status,
		pusher:   pusher,
	}
	unlock, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	err = r.run(ctx)
	pushed := r.pusher.Push(r.results, 0)
	r.status.clear()
	if r.empty() {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w before anything was measured: nothing to keep", ErrInterrupted)
		}
		return errors.Join(err, os.RemoveAll(o.Out))
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("%w after %d of %s cells: %s RESUME=%s runs the rest", ErrInterrupted, len(r.results.Cells), r.planned(), r.command(), o.Out)
	}
	err = errors.Join(err, r.close(err == nil))
	if r.results.Finished != nil && pushed {
		r.status.dashboard(o.Grafana, r.results, o.LabGoes)
	}
	return err
}

// smallest returns the smallest piece.
func smallest(m *piece.Manifest) piece.Piece {
	return slices.MinFunc(m.Pieces, func(a, b piece.Piece) int { return cmp.Compare(a.SizeAs(1), b.SizeAs(1)) })
}

// checkModes refuses ranges that the pieces do not have, or that cannot be
// verified, and a dataset in dir that lacks what it is to be verified with.
func checkModes(s settings.Settings, m *piece.Manifest, dir string) error {
	for _, target := range s.Targets {
		if target.URL == "" {
			continue
		}
		version, err := pieceurl.Version(target.URL)
		if err != nil {
			return fmt.Errorf("target %s: the URL has %w", target.Name, err)
		}
		for _, mode := range s.Modes {
			if err := m.CheckRanges(mode.Length, version, s.Verify > 0); err != nil {
				return fmt.Errorf("MODES=%s: %w", mode.Name, err)
			}
		}
	}
	if s.Verify == 0 {
		return nil
	}
	_, err := verify.OpenAll(dir, m)
	return err
}

// localFiles returns the dataset's files as far as they are on this machine: a
// run against servers elsewhere has the manifest only.
func localFiles(m *piece.Manifest, dir string) []string {
	var files []string
	for _, file := range m.Files() {
		path := filepath.Join(dir, file)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			files = append(files, path)
		}
	}
	return files
}

// sweep is one run under way.
type sweep struct {
	settings settings.Settings
	options  Options
	agent    *client.Client
	files    []string     // of the dataset, as far as they are on this machine
	link     client.State // as it was set for the cells that run
	manifest *piece.Manifest
	lab      []servers.Recipe // servers of the lab that are measured
	cells    []plan.Cell      // of a sweep
	search   *capacity.Search // chooses the cells in place of these; nil of a sweep
	status   *status
	results  *result.Run
	pusher   *series.Pusher // nil without a Prometheus
	linked   bool           // the dashboard's link is printed
	session  string         // before the names of the servers' logs; empty in the first
}

// push sends the run to Prometheus and returns whether it was taken. left is what
// the sweep still takes, 0 if that is not known. The dashboard's link is printed
// once there is data to show.
func (r *sweep) push(left time.Duration) bool {
	pushed := r.pusher.Push(r.results, left)
	if pushed && !r.linked {
		r.linked = true
		r.status.dashboard(r.options.Grafana, r.results, r.options.LabGoes)
	}
	return pushed
}

// open makes the run's folder, or reads the run that is resumed, and keeps it for
// this process until unlock is called.
func (r *sweep) open(ctx context.Context) (unlock func(), err error) {
	if r.options.Resume {
		return r.resume(ctx)
	}
	if _, err := result.Create(filepath.Dir(r.options.Out), filepath.Base(r.options.Out)); err != nil {
		return nil, err
	}
	if unlock, err = result.Lock(r.options.Out); err != nil {
		return nil, err
	}
	r.results = &result.Run{
		Schema:      result.SchemaVersion,
		ID:          filepath.Base(r.options.Out),
		Piecebench:  version.Number,
		Started:     time.Now().UTC(),
		Settings:    r.settings.Text,
		Fingerprint: fingerprint.Collect(r.parts()),
		Planned:     len(r.cells),
	}
	if r.search != nil {
		r.results.Planned, r.results.Capacity = r.search.MostCells(), r.search.Capacity(nil)
	}
	if err := r.results.Save(r.options.Out); err != nil {
		unlock()
		return nil, errors.Join(err, os.RemoveAll(r.options.Out))
	}
	return unlock, nil
}

// empty says whether a new run holds nothing that anybody would want to see: no
// measurement, and no log of an attempt at one.
func (r *sweep) empty() bool {
	logs, err := os.ReadDir(filepath.Join(r.options.Out, "logs"))
	return !r.options.Resume && len(r.results.Calibrations) == 0 && len(r.results.Cells) == 0 && err == nil && len(logs) == 0
}

// parts are what the fingerprint describes.
func (r *sweep) parts() fingerprint.Parts {
	p := fingerprint.Parts{K6: r.options.K6, Manifest: r.options.Manifest, Agent: r.options.Shaped, Lab: r.lab}
	if w := workload.Of(r.settings.Workload); w.Own() {
		p.Script = w.Script
	}
	for _, t := range r.settings.Targets {
		p.Servers = append(p.Servers, t.Address())
	}
	return p
}

// run calibrates every link before the first cell, so that a bad one is known
// in the first minute, goes through the cells, and measures the ceilings again.
func (r *sweep) run(ctx context.Context) error {
	if err := r.calibrate(ctx); err != nil {
		return err
	}
	var current *link.Spec
	for {
		c, left, more := r.next()
		if !more {
			break
		}
		if r.agent != nil && (current == nil || *current != c.Link) {
			set, err := r.agent.SetLink(ctx, c.Link)
			if err != nil {
				return err
			}
			r.link, current = set, &c.Link
		}
		if err := r.cell(ctx, c, left); err != nil {
			return fmt.Errorf("cell %d (%s, %s, %s, %d clients): %w", c.ID, c.Target.Name, c.Link, c.Mode.Name, c.Concurrency, err)
		}
	}
	return r.calibrateAgain(ctx)
}

// cell measures one cell and keeps it; left is what the sweep takes from here.
func (r *sweep) cell(ctx context.Context, c plan.Cell, left time.Duration) error {
	prepare := host.WarmPageCache
	if r.settings.Cache == "cold" {
		prepare = host.EvictPageCache
	}
	if err := prepare(r.files); err != nil {
		return err
	}
	setup := cell.Setup{
		K6: r.options.K6, Script: workload.Of(r.settings.Workload).Path(r.options.Scripts), Manifest: r.options.Manifest,
		Dir: r.options.Out, RunID: r.results.ID, Settings: r.settings,
	}
	if r.behindLink(c.Target) {
		setup.Agent = r.agent
	}
	// The cells before this one go with it. A Prometheus that does not take them
	// would only be in k6's way.
	if r.push(left) {
		setup.WriteURL = series.WriteURL(r.options.Prometheus)
	}
	measured, err := setup.Run(ctx, c, func(p records.Progress) { r.status.cell(c, r.planned(), p, left) })
	if err != nil {
		return err
	}
	if err := r.checkLink(ctx); err != nil {
		return errors.Join(err, setup.SetAside(c))
	}
	r.findBottleneck(&measured, c)
	r.results.Cells = append(r.results.Cells, measured)
	r.status.measured(measured, r.planned())
	if r.search != nil {
		verdict, why := r.search.Judge(measured)
		r.status.judged(string(verdict), why)
		r.results.Capacity = r.search.Capacity(r.results.Cells)
	}
	return r.save()
}

// checkLink refuses a cell whose link is not the one that was set: an agent
// that was started again has none, and tc is there for everybody.
func (r *sweep) checkLink(ctx context.Context) error {
	if r.agent == nil {
		return nil
	}
	now, err := r.agent.Link(ctx)
	if err != nil {
		return err
	}
	was := r.link
	now.Stats, was.Stats = client.Stats{}, client.Stats{}
	switch {
	case now.Spec() != was.Spec():
		return fmt.Errorf("after the cell the link was %s, not %s: the link agent was started again, heard nothing of this run for %s, or somebody else set the link", now.Spec(), was.Spec(), linkLease)
	case now.Lease != was.Lease:
		return fmt.Errorf("while the cell ran, somebody else set the link, to %s as well", now.Spec())
	case now != was:
		return fmt.Errorf("after the cell the link's burst and queues were %d B, %d B and %d packets, not %d, %d and %d: somebody else changed them",
			now.BurstBytes, now.LimitBytes, now.NetemLimitPackets, was.BurstBytes, was.LimitBytes, was.NetemLimitPackets)
	}
	return nil
}

func (r *sweep) save() error {
	return errors.Join(r.results.Save(r.options.Out), result.WriteCellsCSV(r.options.Out, r.results), result.WriteCapacity(r.options.Out, r.results))
}

// close keeps what there is: the files of the run and the reports.
func (r *sweep) close(whole bool) error {
	if whole {
		now := time.Now().UTC()
		r.results.Finished = &now
		if r.search != nil {
			r.results.Planned = len(r.results.Cells)
		}
	}
	err := errors.Join(r.save(), r.copyLogs())
	if r.options.Report != nil {
		err = errors.Join(err, r.options.Report(r.options.Out))
	}
	return err
}

// copyLogs copies the servers' logs into the run, those of a resumed run beside
// what is there.
func (r *sweep) copyLogs() error {
	if r.options.ServerLog == "" {
		return nil
	}
	logs, err := filepath.Glob(filepath.Join(r.options.ServerLog, "*.log"))
	if err != nil {
		return err
	}
	for _, name := range logs {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := wholefile.Write(filepath.Join(r.options.Out, "logs", r.session+filepath.Base(name)), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
