// Package wire sends pieces over TCP connections. It is the layer below net/http:
// a Listener whose connections let a store write into their socket.
package wire

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Listener accepts connections that are limited in number, and that fail when
// their peer takes no byte for too long.
type Listener struct {
	*net.TCPListener
	progress time.Duration
	slots    chan struct{} // one for each connection, and for the next
	open     atomic.Int64
}

// Listen listens on a TCP address. A connection whose peer acknowledges none
// of the bytes waiting for it for the time progress is reset. While there are
// maxConns connections, more wait in the kernel's backlog.
func Listen(address string, progress time.Duration, maxConns int) (*Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return &Listener{TCPListener: l.(*net.TCPListener), progress: progress, slots: make(chan struct{}, maxConns)}, nil
}

// Connections returns the number of open connections.
func (l *Listener) Connections() int64 { return l.open.Load() }

// Accept waits for the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	l.slots <- struct{}{}
	for {
		c, err := l.AcceptTCP()
		if err != nil {
			<-l.slots
			return nil, err
		}
		conn, err := newConn(c, l.progress, func() { l.open.Add(-1); <-l.slots })
		if err == nil {
			l.open.Add(1)
			return conn, nil
		}
		c.Close() // it is gone already
	}
}

// Conn is a TCP connection that a Section can be sent over.
type Conn struct {
	*net.TCPConn
	raw        syscall.RawConn
	release    func()
	unfinished atomic.Bool
}

func newConn(c *net.TCPConn, progress time.Duration, release func()) (*Conn, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	// The kernel knows best whether a peer makes progress: with this option it
	// gives up when data stays unacknowledged, or the window closed, for so
	// long, which covers peers that vanished, peers that stopped reading, and
	// what is still buffered after the response was written. No timer of ours
	// is touched while sending.
	var failed error
	if err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(progress.Milliseconds()))
	}); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, failed
	}
	return &Conn{TCPConn: c, raw: raw, release: sync.OnceFunc(release)}, nil
}

// Close closes the connection: by a reset if a response is Unfinished on it, so
// that not even a client that ignores Content-Length can take what it got for
// the whole.
func (c *Conn) Close() error {
	defer c.release()
	if c.unfinished.Load() {
		c.SetLinger(0)
	}
	return c.TCPConn.Close()
}

// ReadFrom sends what src has. net/http calls it for the body of a response
// that was given to io.Copy. A *Section goes from its store into the socket;
// all else the usual way.
func (c *Conn) ReadFrom(src io.Reader) (int64, error) {
	if s, ok := src.(*Section); ok {
		return s.send(c.raw)
	}
	return c.TCPConn.ReadFrom(src)
}

// connKey is the context key of a request's connection.
type connKey struct{}

// ConnContext is for http.Server.ConnContext; Unfinished needs it.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// Unfinished sets whether the response on a request's connection is incomplete.
func Unfinished(ctx context.Context, yes bool) {
	if c, ok := ctx.Value(connKey{}).(*Conn); ok {
		c.unfinished.Store(yes)
	}
}
