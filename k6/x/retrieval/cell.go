package retrieval

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/metrics"

	"piecebench/internal/plain"
	"piecebench/k6/x/retrieval/draw"
	"piecebench/piece"
	"piecebench/piece/bytesize"
	"piecebench/piece/pieceurl"
	"piecebench/piece/verify"
	"piecebench/records"
)

// tickEvery is how often progress is written, live bytes are counted, and records are
// taken over from the clients.
const tickEvery = time.Second

// Piece is what a script learns of a piece of the manifest.
type Piece struct {
	CID  string `js:"cid"`  // v1
	Size int64  `js:"size"` // bytes that a server sends of it
}

// cell is what all clients of a test share: the dataset, the measured window,
// the records, and the counts.
type cell struct {
	opts     records.Cell
	logger   logrus.FieldLogger
	registry *metrics.Registry
	process  *process
	manifest *piece.Manifest
	// By piece.
	urls    []*url.URL
	objects []draw.Object
	pieces  []Piece
	byCID   map[string]int // the index of a piece, by either CID

	loadReferences func() ([]*verify.Reference, error) // by piece
	references     []*verify.Reference                 // none where no share is verified

	name, objectName string // of k6's tags name and url

	begin    sync.Once
	started  time.Time // of the scenario, with the monotonic clock
	window   records.Window
	records  *records.Writer[records.Request] // nil without
	jobs     *records.Writer[records.Job]     // nil without
	progress *progressWriter                  // nil without
	stop     chan struct{}                    // ends the ticker, which closes stopped
	stopped  chan struct{}
	err      error // of starting
	failure  atomic.Pointer[error]

	mu      sync.Mutex
	clients []*client

	requesting, active, ok, failed, cut atomic.Int64 // requesting: clients that have begun

	jobNumber  atomic.Int64 // of the last job
	jobMetrics jobMetrics
}

func newCell(o records.Cell, p *process, env *common.InitEnvironment) (*cell, error) {
	m, err := piece.Load(o.Manifest)
	if err != nil {
		return nil, err
	}
	c := &cell{
		opts: o, logger: env.Logger, registry: env.Registry, process: p, manifest: m,
		stop: make(chan struct{}), stopped: make(chan struct{}),
		byCID: make(map[string]int), name: plain.URL(o.URL), objectName: plain.URL(o.ObjectURL),
	}
	c.loadReferences = sync.OnceValues(func() ([]*verify.Reference, error) { return verify.OpenAll(filepath.Dir(o.Manifest), m) })
	if o.URL != "" {
		if err := c.findPieces(); err != nil {
			return nil, err
		}
	}
	if o.ObjectURL != "" {
		if _, err := absolute(strings.ReplaceAll(o.ObjectURL, "{object}", "x"), c.objectName); err != nil {
			return nil, err
		}
	}
	if c.jobMetrics, err = newJobMetrics(env.Registry); err != nil {
		return nil, err
	}
	for _, path := range []string{o.RecordsPath, o.JobsPath, o.Progress} {
		if path == "" {
			continue
		}
		if err := records.CheckFree(path); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// findPieces fills in what is known of each piece.
func (c *cell) findPieces() error {
	version, err := pieceurl.Version(c.opts.URL)
	if err != nil {
		return err
	}
	if err := c.manifest.CheckRanges(c.opts.Length, version, c.opts.Verify > 0); err != nil {
		return fmt.Errorf("mode %s: %w", bytesize.String(c.opts.Length), err)
	}
	if c.opts.Verify > 0 {
		if c.references, err = c.loadReferences(); err != nil {
			return err
		}
	}
	for i, p := range c.manifest.Pieces {
		u, err := absolute(pieceurl.Fill(c.opts.URL, p.CID, p.CIDv2), c.name)
		if err != nil {
			return err
		}
		c.byCID[p.CID], c.byCID[p.CIDv2] = i, i
		c.urls = append(c.urls, u)
		c.objects = append(c.objects, draw.Object{Size: p.SizeAs(version), Align: p.CheckedBlock()})
		c.pieces = append(c.pieces, Piece{p.CID, p.SizeAs(version)})
	}
	return nil
}

// absolute returns a URL with a server; shown is how an error names it.
func absolute(text, shown string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("url %s is not absolute: use http://host/path or https://host/path", shown)
	}
	return u, nil
}

// start begins the cell at its first request. Only then is the scenario's start known,
// and nothing can stop k6 before its first request any more.
func (c *cell) start(scenario *lib.ScenarioState) error {
	c.begin.Do(func() {
		c.started = scenario.StartTime
		from := c.started.Add(c.opts.Warmup)
		c.window.StartNs = from.UnixNano()
		if c.opts.Duration > 0 {
			c.window.EndNs = from.Add(c.opts.Duration).UnixNano()
		}
		if c.opts.RecordsPath != "" {
			if c.records, c.err = records.Create(c.opts.RecordsPath); c.err != nil {
				return
			}
		}
		if c.opts.JobsPath != "" {
			if c.jobs, c.err = records.CreateJobs(c.opts.JobsPath); c.err != nil {
				return
			}
		}
		if c.opts.Progress != "" {
			if c.progress, c.err = createProgress(c.opts.Progress); c.err != nil {
				return
			}
		}
		c.report(false)
		go c.tick()
	})
	return c.err
}

// join adds a client, and returns its sequence.
func (c *cell) join(cl *client, number uint64) *draw.Sequence {
	c.mu.Lock()
	c.clients = append(c.clients, cl)
	c.mu.Unlock()
	return draw.New(c.opts.Seed, number, c.objects, c.opts.Length)
}

// tick does every second what must not depend on the end of a request.
func (c *cell) tick() {
	defer close(c.stopped)
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			c.check(clockSet(now.Round(0).Sub(c.started.Round(0)), now.Sub(c.started)))
			c.pushData(now)
			c.report(false)
			if c.records != nil {
				c.check(c.records.Flush())
			}
			if c.jobs != nil {
				c.check(c.jobs.Flush())
			}
		case <-c.stop:
			return
		}
	}
}

// report writes a line of progress.
func (c *cell) report(done bool) {
	if c.progress == nil {
		return
	}
	p := records.Progress{
		UnixNs:      time.Now().UnixNano(),
		Start:       c.started.UnixNano(),
		WindowStart: c.window.StartNs,
		WindowEnd:   c.window.EndNs,
		Clients:     c.requesting.Load(),
		Active:      c.active.Load(),
		OK:          c.ok.Load(),
		Failed:      c.failed.Load(),
		Cut:         c.cut.Load(),
		Done:        done && c.failure.Load() == nil,
	}
	c.mu.Lock()
	for _, cl := range c.clients {
		p.Bytes += cl.received()
	}
	c.mu.Unlock()
	c.check(c.progress.write(p))
}

// check keeps the first error. A test whose records are incomplete or wrong must not go on.
func (c *cell) check(err error) {
	if err != nil && c.failure.CompareAndSwap(nil, &err) {
		c.logger.WithError(err).Error("retrieval: the records are not usable, so the test ends")
	}
}

// clockTolerance is what the wall clock may gain or lose on the monotonic one
// during a test. NTP corrects it by 0.5 ms a second at most.
const clockTolerance = 100 * time.Millisecond

// clockSet returns an error if the wall clock was set, which the records' and the
// window's times come from: it then advanced by another time than the monotonic clock.
func clockSet(wall, monotonic time.Duration) error {
	by := wall - monotonic
	if by.Abs() <= clockTolerance {
		return nil
	}
	return fmt.Errorf("this machine's clock was set by %s during the test: its times are wrong", by.Round(time.Millisecond))
}

// close completes the files. It is called at the end of the test, once or
// twice, after the last request.
func (c *cell) close() {
	c.begin.Do(func() {})
	if c.started.IsZero() || c.err != nil {
		return
	}
	select {
	case <-c.stop:
		return
	default:
		close(c.stop)
	}
	<-c.stopped
	now := time.Now()
	c.check(clockSet(now.Round(0).Sub(c.started.Round(0)), now.Sub(c.started)))
	// A test that ends before its window does, because each client has made its
	// requests, ends the window.
	if c.window.EndNs == 0 || now.UnixNano() < c.window.EndNs {
		c.window.EndNs = now.UnixNano()
	}
	c.report(false) // completing the records may take long
	if c.records != nil {
		c.check(c.records.Close(c.window))
	}
	if c.jobs != nil {
		c.check(c.jobs.Close(c.window))
	}
	c.report(true)
	if c.progress != nil {
		c.check(c.progress.close())
	}
	for _, cl := range c.clients {
		cl.close()
	}
}
