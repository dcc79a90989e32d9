package httpget

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"net/url"
	"piecebench/records"
	"time"
)

// headBuffer holds a response head and, until it is taken, the start of the body.
const headBuffer = 4 << 10

// conn is one connection to a server.
type conn struct {
	key string
	nc  net.Conn // plain or TLS
	tls bool
	// version is that of TLS, empty without.
	version string
	br      *bufio.Reader
	raw     *rawConn // the socket; nil where it cannot be read directly
	x       *exchange
	used    bool // by an earlier request
}

// Read lets bufio read through the running exchange, which knows the deadlines.
func (c *conn) Read(p []byte) (int, error) {
	if c.x.headLeft >= 0 {
		return c.x.readHead(p)
	}
	return c.x.read(p)
}

func (c *conn) close() { c.nc.Close() }

// quiet reports whether a kept connection can take another request: the server
// has neither closed it nor sent anything unasked.
func (c *conn) quiet() bool {
	if c.raw == nil || !c.tls {
		return c.raw == nil || c.raw.quiet()
	}
	if !c.raw.quiet() {
		return false
	}
	// TLS reads ahead, so unasked bytes may have been read already. The deadline keeps it
	// from reading more.
	c.nc.SetReadDeadline(past)
	var b [1]byte
	n, err := c.nc.Read(b[:])
	return n == 0 && isTimeout(err)
}

// connKey names what a connection can be kept for.
func connKey(u *url.URL) string { return u.Scheme + "://" + hostPort(u) }

func hostPort(u *url.URL) string {
	if port := u.Port(); port != "" {
		return net.JoinHostPort(u.Hostname(), port)
	}
	if u.Scheme == "https" {
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return net.JoinHostPort(u.Hostname(), "80")
}

// dial opens a connection.
func (x *exchange) dial(u *url.URL) (*conn, error) {
	var nc net.Conn
	err := x.phase("connect", &x.res.ConnectNs, func(ctx context.Context) (err error) {
		nc, err = x.client.open(ctx, u)
		return err
	})
	if err != nil {
		return nil, err
	}
	c := &conn{key: connKey(u), nc: nc, tls: u.Scheme == "https", raw: newRawConn(x.client.unwrap(nc))}
	if c.tls {
		if c.raw != nil {
			nc = ciphertext{nc, c.raw}
		}
		err := x.phase("TLS", &x.res.TLSNs, func(ctx context.Context) (err error) {
			c.nc, c.version, err = handshake(ctx, nc, x.client.TLS, u.Hostname())
			return err
		})
		if err != nil {
			nc.Close()
			return nil, err
		}
	}
	c.br = bufio.NewReaderSize(c, headBuffer)
	return c, nil
}

// phase runs a step of connecting, which may take as long as a server may be
// silent, and sets ns to its time.
func (x *exchange) phase(name string, ns *int64, step func(context.Context) error) error {
	start := time.Now()
	until := x.deadline
	if stall := x.client.Stall; stall > 0 && (until.IsZero() || start.Add(stall).Before(until)) {
		until = start.Add(stall)
	}
	ctx := x.ctx
	if !until.IsZero() {
		var cancel func()
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	err := step(ctx)
	*ns = int64(time.Since(start))
	switch {
	case err == nil:
		return nil
	case x.ctx.Err() != nil:
		return errCut
	case until.IsZero() || time.Now().Before(until):
		return failAs(records.Connect, name, err)
	case until.Equal(x.deadline):
		return x.timeout()
	}
	return fail(records.Connect, "%s: not done after %s", name, x.client.Stall)
}

// open connects to u's server. It returns when ctx is done, even while k6's dialer looks
// up a name, which nothing can stop.
func (c *Client) open(ctx context.Context, u *url.URL) (net.Conn, error) {
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return c.Dial(ctx, "tcp", hostPort(u))
	}
	type dialled struct {
		nc  net.Conn
		err error
	}
	done := make(chan dialled)
	go func() {
		nc, err := c.Dial(ctx, "tcp", hostPort(u))
		select {
		case done <- dialled{nc, err}:
		case <-ctx.Done():
			if err == nil {
				nc.Close()
			}
		}
	}()
	select {
	case d := <-done:
		return d.nc, d.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ciphertext is the connection under TLS, read in batches.
type ciphertext struct {
	net.Conn
	raw *rawConn
}

func (c ciphertext) Read(p []byte) (int, error) { return c.raw.fill(p) }

// handshake returns the connection with TLS, and its version.
func handshake(ctx context.Context, nc net.Conn, cfg *tls.Config, host string) (net.Conn, string, error) {
	if cfg == nil {
		cfg = &tls.Config{}
	}
	cfg = cfg.Clone()
	cfg.NextProtos = []string{"http/1.1"}
	if cfg.ServerName == "" {
		cfg.ServerName = host
	}
	tc := tls.Client(nc, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		return nil, "", err
	}
	return tc, tls.VersionName(tc.ConnectionState().Version), nil
}

// unwrap returns the connection that can be read directly, and the counter of
// received bytes that must then be kept right.
func (c *Client) unwrap(nc net.Conn) (net.Conn, *int64) {
	if c.Unwrap == nil {
		return nc, new(int64)
	}
	return c.Unwrap(nc)
}
