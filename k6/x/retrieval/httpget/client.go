// Package httpget is an HTTP/1.1 client for one thing: GETs whose body is measured.
// A body that nobody looks at is dropped in the kernel, which costs a fifth of the
// CPU time of copying it.
package httpget

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"piecebench/internal/plain"
	"piecebench/records"
)

// Config is what all requests of a client have in common.
type Config struct {
	Dial         func(ctx context.Context, network, addr string) (net.Conn, error)
	Unwrap       func(net.Conn) (nc net.Conn, received *int64) // what Dial has wrapped, and its counter of received bytes; nil: nothing
	TLS          *tls.Config                                   // for https URLs; nil is the default
	UserAgent    string
	Header       http.Header   // of requests to the server of Request.URL, and to none that it redirects to
	Fresh        bool          // a new connection for every request
	MaxRedirects int           // 0: a redirect is an answer
	Timeout      time.Duration // of a whole request; 0 for none
	Stall        time.Duration // without a byte, a connection or a TLS session; 0 for none
	WindowStart  time.Time     // the measured window
	WindowEnd    time.Time     // a request that ends after it is cut; zero for no end
}

// Client sends one request at a time and keeps connections for the next.
type Client struct {
	Config
	idle     map[string]*conn // by scheme and address; a client talks to few
	header   []byte           // Header as it is sent
	received atomic.Int64
}

// New returns a client.
func New(cfg Config) *Client {
	c := &Client{Config: cfg, idle: make(map[string]*conn)}
	for _, name := range slices.Sorted(maps.Keys(cfg.Header)) {
		for _, value := range cfg.Header[name] {
			c.header = fmt.Appendf(c.header, "\r\n%s: %s", name, value)
		}
	}
	return c
}

// Received returns how many body bytes all requests have received until now.
// It may be called while a request is running.
func (c *Client) Received() int64 { return c.received.Load() }

// Over reports whether the measured window has ended at this time.
func (c *Config) Over(t time.Time) bool { return !c.WindowEnd.IsZero() && t.After(c.WindowEnd) }

// Wall returns t as Unix nanoseconds, by the wall clock as it was when the window was
// set: a clock that is set while requests run moves none of them out of it.
func (c *Config) Wall(t time.Time) int64 {
	if c.WindowStart.IsZero() {
		return t.UnixNano()
	}
	return c.WindowStart.UnixNano() + int64(t.Sub(c.WindowStart))
}

// Close closes the connections that are kept.
func (c *Client) Close() {
	for key, cn := range c.idle {
		cn.close()
		delete(c.idle, key)
	}
}

// Request is one GET.
type Request struct {
	URL    *url.URL
	Whole  bool  // the whole object; else the range of Length bytes at Offset
	Offset int64 // of the first byte
	Length int64 // of the range, at least 1, or of the whole object; there it may be Unknown
	Size   int64 // of the whole object; 0 when it is not known
	Most   int64 // bytes of a whole object of Unknown length; 0: no limit
	// Timeout is of the whole request; 0: that of the client.
	Timeout time.Duration
	// Sink is given the body, in order, and returns an error at a wrong byte.
	// With nil the body is dropped.
	Sink io.Writer
}

// Unknown is the Length of a whole object of which only the answer says how long it is.
const Unknown = -1

// Result says how a request went. Of the record all is set but Piece,
// Verified, VerifiedBytes and Client, which the caller knows.
type Result struct {
	records.Request
	End time.Time
	// Blocked is the time until there was a connection, new or kept; Sending
	// that of writing the request, which the time to the first byte includes;
	// Receiving that from the first response byte to the end. Of a redirected
	// request they are those of its last hop.
	Blocked, Sending, Receiving time.Duration
}

// Get sends r and receives the answer. It returns when the last byte is there,
// on failure, or when ctx is done, which makes the request a cut one.
func (c *Client) Get(ctx context.Context, r Request) Result {
	x := newExchange(ctx, c, r)
	err := x.run()
	end := time.Now()
	res := &x.res
	res.End = end
	res.DurationNs = int64(end.Sub(x.start))
	if !x.firstByte.IsZero() {
		res.Receiving = end.Sub(x.firstByte)
	}
	switch {
	case c.Over(end):
		res.Outcome = records.Cut
	case err == nil:
		res.Outcome = records.OK
	default:
		res.Outcome, res.Error = classify(ctx, err)
		res.Error = plain.Line(res.Error)
	}
	return x.res
}
