package retrieval

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"go.k6.io/k6/errext"
	"go.k6.io/k6/js/modules"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/lib/netext"
	"go.k6.io/k6/metrics"

	"piecebench/internal/plain"
	"piecebench/k6/x/retrieval/draw"
	"piecebench/k6/x/retrieval/httpget"
	"piecebench/piece/verify"
	"piecebench/records"
)

// client is a Client of one VU.
type client struct {
	vu   modules.VU
	cell *cell

	// Since the first request.
	get      *httpget.Client
	sequence *draw.Sequence
	number   uint64
	samples  *sampler
	asked    bool                           // has made a request
	tags     atomic.Pointer[metrics.TagSet] // of the running iteration
}

// Response is what get returns to the script.
type Response struct {
	Outcome    string  `js:"outcome"`
	Error      string  `js:"error"`
	Status     int32   `js:"status"`
	Bytes      int64   `js:"bytes"`
	TTFBMs     float64 `js:"ttfb_ms"`
	DurationMs float64 `js:"duration_ms"`
}

// Get downloads the next piece or range of this client's sequence. It returns
// null when the scenario ended before the request could start.
func (c *client) Get() (*Response, error) {
	ctx, state := c.vu.Context(), c.vu.State()
	if state == nil {
		return nil, errors.New("get() can only be called in a scenario's function, not in the init context")
	}
	if c.get == nil {
		if err := c.join(ctx, state); err != nil {
			c.abort(err)
			return nil, err
		}
		c.spread(ctx)
	}
	if err := c.cell.failure.Load(); err != nil {
		c.abort(*err)
		return nil, *err
	}
	if state.RPSLimit != nil {
		_ = state.RPSLimit.Wait(ctx) // it fails only when ctx is done
	}
	if c.get.Over() {
		pause(ctx, 100*time.Millisecond) // k6's own timer is about to end the scenario
		return nil, nil
	}
	if ctx.Err() != nil {
		return nil, nil
	}
	return c.request(ctx, state), nil
}

// abort ends the whole test.
func (c *client) abort(err error) {
	c.vu.Runtime().Interrupt(&errext.InterruptError{Reason: err.Error()})
}

// join is a client's first step: k6 gives a VU its state after the init context.
func (c *client) join(ctx context.Context, state *lib.State) error {
	scenario := lib.GetScenarioState(ctx)
	if scenario == nil {
		return errors.New("get() can only be called in a scenario's function, not in setup or teardown")
	}
	if err := c.cell.start(scenario); err != nil {
		return err
	}
	o := c.cell.opts
	cfg := httpget.Config{
		Dial:         state.Dialer.DialContext,
		Unwrap:       unwrap,
		TLS:          state.TLSConfig,
		UserAgent:    state.Options.UserAgent.String,
		Fresh:        o.Fresh || state.Options.NoConnectionReuse.Bool,
		MaxRedirects: int(state.Options.MaxRedirects.Int64),
		Timeout:      o.Timeout,
		Stall:        o.Stall,
		// Not from the window's nanoseconds: these carry the monotonic clock.
		WindowStart: scenario.StartTime.Add(o.Warmup),
	}
	if o.Duration > 0 {
		cfg.WindowEnd = cfg.WindowStart.Add(o.Duration)
	}
	c.get = httpget.New(cfg)
	c.number = state.VUIDGlobal
	c.samples = newSampler(state, plain.URL(o.URL))
	c.sequence = c.cell.join(c, c.number)
	return nil
}

// unwrap returns the connection below k6's, and k6's counter.
func unwrap(nc net.Conn) (net.Conn, *int64) {
	if k, ok := nc.(*netext.Conn); ok {
		return k.Conn, k.BytesRead
	}
	return nc, new(int64)
}

// spread waits for this client's turn to start.
func (c *client) spread(ctx context.Context) {
	o := c.cell.opts
	if o.Clients == 0 {
		return
	}
	turn := (c.number - 1) % o.Clients
	pause(ctx, time.Duration(float64(o.Warmup)/2*float64(turn)/float64(o.Clients)))
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (c *client) request(ctx context.Context, state *lib.State) *Response {
	cell := c.cell
	if !c.asked {
		c.asked = true
		cell.requesting.Add(1)
	}
	next := c.sequence.Next()
	p := cell.manifest.Pieces[next.Piece]
	req := httpget.Request{
		URL:    cell.urls[next.Piece],
		Whole:  cell.opts.Length == draw.Full,
		Offset: next.Offset,
		Length: next.Length,
		Size:   cell.objects[next.Piece].Size,
	}
	var check *verify.Checker
	if c.sequence.Check(cell.opts.Verify) {
		check = cell.references[next.Piece].Range(next.Offset, next.Length)
		req.Check = check
	}
	tags := state.Tags.GetCurrentValues()
	c.tags.Store(tags.Tags)
	cell.active.Add(1)
	res := c.get.Get(ctx, req)
	cell.active.Add(-1)

	res.Piece, res.Client = p.CID, int32(c.number)
	if check != nil {
		res.VerifiedBytes = check.Checked()
		res.Verified = res.VerifiedBytes > 0
		if res.Outcome == records.OK && res.VerifiedBytes != res.Length {
			cell.check(fmt.Errorf("%d of the %d bytes at %d of piece %s were verified, want all", res.VerifiedBytes, res.Length, res.Offset, p.CID))
		}
	}
	switch res.Outcome {
	case records.OK:
		cell.ok.Add(1)
	case records.Cut:
		cell.cut.Add(1)
	default:
		cell.failed.Add(1)
	}
	if cell.records != nil {
		cell.records.Add(&res.Request)
	}
	if res.Outcome != records.Cut {
		metrics.PushIfNotDone(ctx, state.Samples, c.samples.request(tags, &res))
	}
	return &Response{
		Outcome: string(res.Outcome), Error: res.Error, Status: res.Status, Bytes: res.Bytes,
		TTFBMs: ms(res.TTFBNs), DurationMs: ms(res.DurationNs),
	}
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }
