package httpget

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"time"

	"go.k6.io/k6/lib/netext"
)

// headBuffer holds a response head and, until it is taken, the start of the body.
const headBuffer = 4 << 10

// conn is one connection to a server.
type conn struct {
	key  string
	nc   net.Conn // plain or TLS
	tls  bool
	br   *bufio.Reader
	raw  *rawConn // the socket; nil where it cannot be read directly
	x    *exchange
	used bool // by an earlier request
}

// Read lets bufio read through the running exchange, which knows the deadlines.
func (c *conn) Read(p []byte) (int, error) {
	if c.x.headLeft >= 0 {
		return c.x.readHead(p)
	}
	return c.x.read(p)
}

func (c *conn) close() { c.nc.Close() }

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

// dial opens a connection and returns how long TCP (with DNS) and TLS took.
func (c *Client) dial(ctx context.Context, u *url.URL) (_ *conn, tcp, tlsTime time.Duration, err error) {
	start := time.Now()
	nc, err := c.Dial(ctx, "tcp", hostPort(u))
	tcp = time.Since(start)
	if err != nil {
		return nil, tcp, 0, err
	}
	cn := &conn{key: connKey(u), nc: nc, tls: u.Scheme == "https", raw: newRawConn(unwrap(nc))}
	if cn.tls {
		if cn.raw != nil {
			nc = ciphertext{nc, cn.raw}
		}
		start = time.Now()
		cn.nc, err = handshake(ctx, nc, c.TLS, u.Hostname())
		tlsTime = time.Since(start)
		if err != nil {
			nc.Close()
			return nil, tcp, tlsTime, err
		}
	}
	cn.br = bufio.NewReaderSize(cn, headBuffer)
	return cn, tcp, tlsTime, nil
}

// ciphertext is the connection under TLS, read in batches.
type ciphertext struct {
	net.Conn
	raw *rawConn
}

func (c ciphertext) Read(p []byte) (int, error) { return c.raw.fill(p) }

func handshake(ctx context.Context, nc net.Conn, cfg *tls.Config, host string) (net.Conn, error) {
	if cfg == nil {
		cfg = &tls.Config{}
	}
	cfg = cfg.Clone()
	cfg.NextProtos = []string{"http/1.1"}
	if cfg.ServerName == "" {
		cfg.ServerName = host
	}
	tc := tls.Client(nc, cfg)
	return tc, tc.HandshakeContext(ctx)
}

// unwrap returns the connection below k6's, whose counter of received bytes
// must be kept right when that connection is read directly.
func unwrap(nc net.Conn) (net.Conn, *int64) {
	if k, ok := nc.(*netext.Conn); ok {
		return k.Conn, k.BytesRead
	}
	return nc, new(int64)
}
