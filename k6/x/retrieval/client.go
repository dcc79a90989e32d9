package retrieval

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/errext"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/js/modules"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/lib/netext"
	"go.k6.io/k6/metrics"

	"piecebench/k6/x/retrieval/draw"
	"piecebench/k6/x/retrieval/httpget"
	"piecebench/records"
)

// client is a Client of one VU. Its methods run on the VU's goroutine. What fetch uses
// may also be used by the goroutines of requests that run at once.
type client struct {
	vu   modules.VU
	cell *cell

	// Since the first call in a scenario.
	number   uint64
	state    *lib.State
	config   httpget.Config
	sequence *draw.Sequence
	dialer   *netext.Dialer // nil when k6 has another
	spread   bool           // has waited for its turn
	job      *job           // the running one
	file     *os.File       // of store

	asked atomic.Bool                    // has made a request, or begun a job
	tags  atomic.Pointer[metrics.TagSet] // of the running iteration

	mu    sync.Mutex
	lanes []*lane
	free  []*lane // the one that was used last comes last
}

// lane sends one request at a time. It keeps the connection for the next.
type lane struct {
	http    *httpget.Client
	samples *sampler
}

// method is what a script can call on a client.
type method func(ctx context.Context, call sobek.FunctionCall) (sobek.Value, error)

func (c *client) methods() map[string]method {
	return map[string]method{
		"next": c.next, "random": c.random, "get": c.get, "batch": c.batch, "start": c.start,
		"job": c.runJob, "stage": c.runStage, "verify": c.verify, "store": c.store,
	}
}

// expose gives an object of the script the client's methods, and the pieces.
func (c *client) expose(o *sobek.Object) error {
	for name, m := range c.methods() {
		if err := o.Set(name, c.bind(name, m)); err != nil {
			return err
		}
	}
	return o.Set("pieces", c.cell.pieces)
}

// bind returns m as the script sees it. What the script's own functions threw, it throws
// again. Any other error is the script's use of the method, or of the records: it ends
// the test, or the script would make the same mistake until its end.
func (c *client) bind(name string, m method) func(sobek.FunctionCall) sobek.Value {
	return func(call sobek.FunctionCall) sobek.Value {
		ctx := c.vu.Context()
		if c.sequence == nil {
			scenario := lib.GetScenarioState(ctx)
			if c.vu.State() == nil || scenario == nil {
				common.Throw(c.vu.Runtime(), fmt.Errorf("%s() can only be called in a scenario's function: not in the init context, setup or teardown", name))
			}
			if err := c.join(scenario); err != nil {
				return abort(c.vu, err)
			}
		}
		if err := c.cell.failure.Load(); err != nil {
			return abort(c.vu, *err)
		}
		value, err := m(ctx, call)
		var thrown *sobek.Exception
		var interrupted *sobek.InterruptedError
		switch {
		case err == nil:
			return value
		case errors.As(err, &thrown):
			panic(thrown)
		case errors.As(err, &interrupted):
			panic(interrupted)
		}
		return abort(c.vu, fmt.Errorf("%s(): %w", name, err))
	}
}

// abort ends the whole test. k6 says at which line of the script.
func abort(vu modules.VU, err error) sobek.Value {
	vu.Runtime().Interrupt(&errext.InterruptError{Reason: err.Error()})
	return sobek.Undefined()
}

// join is a client's first step: k6 gives a VU its state after the init context.
func (c *client) join(scenario *lib.ScenarioState) error {
	if err := c.cell.start(scenario); err != nil {
		return err
	}
	state, o := c.vu.State(), c.cell.opts
	c.state = state
	c.config = httpget.Config{
		Dial:         state.Dialer.DialContext,
		Unwrap:       unwrap,
		TLS:          withTLS(state.TLSConfig, o.Insecure),
		Header:       o.Headers,
		UserAgent:    state.Options.UserAgent.String,
		Fresh:        o.Fresh || state.Options.NoConnectionReuse.Bool,
		MaxRedirects: int(state.Options.MaxRedirects.Int64),
		Timeout:      o.Timeout,
		Stall:        o.Stall,
		// Not from the window's nanoseconds: these carry the monotonic clock.
		WindowStart: scenario.StartTime.Add(o.Warmup),
	}
	if o.Duration > 0 {
		c.config.WindowEnd = c.config.WindowStart.Add(o.Duration)
	}
	c.dialer, _ = state.Dialer.(*netext.Dialer)
	c.number = state.VUIDGlobal
	c.sequence = c.cell.join(c, c.number)
	return nil
}

// withTLS returns k6's configuration of TLS, which may be nil, and that of the cell in one.
func withTLS(config *tls.Config, insecure bool) *tls.Config {
	if !insecure {
		return config
	}
	if config == nil {
		config = &tls.Config{}
	}
	config = config.Clone()
	config.InsecureSkipVerify = true
	return config
}

// unwrap returns the connection below k6's, and k6's counter.
func unwrap(nc net.Conn) (net.Conn, *int64) {
	if k, ok := nc.(*netext.Conn); ok {
		return k.Conn, k.BytesRead
	}
	return nc, new(int64)
}

// awaitTurn spreads the starts of the clients over half the warm-up.
func (c *client) awaitTurn(ctx context.Context) {
	if c.spread {
		return
	}
	c.spread = true
	o := c.cell.opts
	if o.Clients == 0 {
		return
	}
	turn := (c.number - 1) % o.Clients
	pause(ctx, time.Duration(float64(o.Warmup)/2*float64(turn)/float64(o.Clients)))
}

// over reports whether nothing more may start: the window has closed, or k6 ends the
// scenario.
func (c *client) over(ctx context.Context) bool {
	return ctx.Err() != nil || c.config.Over(time.Now())
}

// awaitEnd has a script whose window has closed wait for k6's own timer, which is about
// to end the scenario.
func awaitEnd(ctx context.Context) { pause(ctx, 100*time.Millisecond) }

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// ask counts this client among those that have begun.
func (c *client) ask() {
	if !c.asked.Load() && !c.asked.Swap(true) {
		c.cell.requesting.Add(1)
	}
}

// take returns a lane for one request; put takes it back.
func (c *client) take() *lane {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.free); n > 0 {
		l := c.free[n-1]
		c.free = c.free[:n-1]
		return l
	}
	l := &lane{http: httpget.New(c.config), samples: &sampler{state: c.state}}
	c.lanes = append(c.lanes, l)
	return l
}

func (c *client) put(l *lane) {
	c.mu.Lock()
	c.free = append(c.free, l)
	c.mu.Unlock()
}

// received returns how many body bytes all requests have received until now.
func (c *client) received() (n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.lanes {
		n += l.http.Received()
	}
	return n
}

// close gives up the connections and the file.
func (c *client) close() {
	for _, l := range c.lanes {
		l.http.Close()
	}
	if c.file != nil {
		c.cell.check(c.file.Close())
	}
}

// next returns the next request of this client's sequence, which get would send.
func (c *client) next(context.Context, sobek.FunctionCall) (sobek.Value, error) {
	if len(c.cell.urls) == 0 {
		return nil, errNoPieces
	}
	r := c.sequence.Next()
	request := c.vu.Runtime().NewObject()
	err := request.Set("piece", r.Piece)
	if c.cell.opts.Length != draw.Full {
		err = errors.Join(err, request.Set("offset", r.Offset), request.Set("length", r.Length))
	}
	return request, err
}

// random returns the next random number of this client, from 0 to below 1. It follows
// from the seed and the client's number.
func (c *client) random(context.Context, sobek.FunctionCall) (sobek.Value, error) {
	return c.vu.Runtime().ToValue(c.sequence.Random()), nil
}

// get sends one request, the next of the sequence or that of the script, and waits for
// its end.
func (c *client) get(ctx context.Context, call sobek.FunctionCall) (sobek.Value, error) {
	var o order
	var err error
	switch {
	case !sobek.IsUndefined(call.Argument(0)):
		o, err = c.parse(call.Argument(0), options{})
	case len(c.cell.urls) == 0:
		err = errNoPieces
	default:
		o = c.draw()
	}
	if err != nil {
		return nil, err
	}
	c.awaitTurn(ctx)
	tags := c.state.Tags.GetCurrentValues()
	c.tags.Store(tags.Tags)
	r := c.fetch(ctx, tags, c.job, &o)
	if r.Outcome == string(records.Cut) {
		awaitEnd(ctx)
	}
	return c.answer(r), nil
}

// answer returns r as the script sees it.
func (c *client) answer(r *Response) sobek.Value {
	rt := c.vu.Runtime()
	if r.kept != nil {
		r.Body = rt.NewArrayBuffer(r.kept)
	}
	return rt.ToValue(r)
}
