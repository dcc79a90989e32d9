package httpget

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/records"
)

// starved is a connection whose writer gets no CPU for a while after each write.
type starved struct {
	*net.TCPConn
	wait time.Duration
}

func (s starved) Write(b []byte) (int, error) {
	n, err := s.TCPConn.Write(b)
	time.Sleep(s.wait)
	return n, err
}

func TestTTFBIsNeverBelowTheServersDelay(t *testing.T) {
	const delay = 20 * time.Millisecond
	serverTLS, clientTLS := testTLS(t)
	for scheme, cfg := range map[string]*tls.Config{"http": nil, "https": serverTLS} {
		s := newServer(t, cfg, func(c net.Conn, r *http.Request, _ int) bool {
			time.Sleep(delay)
			answer(c, r)
			return true
		})
		for _, wait := range []time.Duration{0, 2 * delay} {
			c := newTestClient(Config{TLS: clientTLS})
			dial := c.Dial
			c.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				nc, err := dial(ctx, network, addr)
				if err != nil {
					return nil, err
				}
				return starved{nc.(*net.TCPConn), wait}, nil
			}
			for range 3 {
				r := c.Get(t.Context(), ranged(s.url(scheme), 0, 1000))
				wantOK(t, r)
				if ttfb := time.Duration(r.TTFBNs); ttfb < delay || time.Duration(r.DurationNs) < ttfb {
					t.Errorf("%s, the writer starved for %s: TTFB %s, duration %s, and the server takes %s", scheme, wait, ttfb, time.Duration(r.DurationNs), delay)
				}
			}
			c.Close()
		}
	}
}

// setsockopt sets a TCP option of a server's connection.
func setsockopt(t *testing.T, c net.Conn, option, value int) {
	if over, ok := c.(*tls.Conn); ok {
		c = over.NetConn()
	}
	raw, err := c.(syscall.Conn).SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			if err := unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, option, value); err != nil {
				t.Error(err)
			}
		})
	}
	if err != nil {
		t.Error(err)
	}
}

// speakFirst calls step just before each write, and makes the other end take its
// time with acknowledgements, as a path with a delay does.
type speakFirst struct {
	*net.TCPConn
	step func()
}

func (s speakFirst) Write(b []byte) (int, error) {
	s.step()
	return s.TCPConn.Write(b)
}

// An answer that is there before the request has no TTFB: it answers nothing.
func TestAnAnswerBeforeTheRequestIsNone(t *testing.T) {
	said := make(chan struct{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var speak atomic.Pointer[func()]
	s := &server{Listener: l, tb: t, quit: make(chan struct{})}
	s.behave = func(c net.Conn, r *http.Request, served int) bool {
		if served == 0 {
			answer(c, r)
			tell := func() {
				setsockopt(t, c, unix.TCP_QUICKACK, 0)
				write(c, "%s%s", rangeHead(7, 1000), object[7:1007])
			}
			speak.Store(&tell)
			said <- struct{}{}
		}
		return true
	}
	s.wg.Go(s.accept)
	t.Cleanup(s.stop)

	// A loaded machine may acknowledge before the client looks: then the answer
	// counts, and its TTFB is a round trip at least.
	for deadline := time.Now().Add(time.Minute); ; {
		c := newTestClient(Config{})
		dial := c.Dial
		requests := 0
		c.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return speakFirst{nc.(*net.TCPConn), func() {
				if requests++; requests == 2 {
					(*speak.Load())()
				}
			}}, nil
		}
		wantOK(t, c.Get(t.Context(), ranged(s.url("http"), 7, 1000)))
		<-said
		done := make(chan Result)
		go func() { done <- c.Get(t.Context(), ranged(s.url("http"), 7, 1000)) }()
		select {
		case r := <-done: // took it for the answer
			wantOK(t, r)
		case <-said: // asked again, on a new connection
			r := <-done
			if wantOK(t, r); r.Reused || requests != 3 {
				t.Errorf("reused %v, %d requests", r.Reused, requests)
			}
			c.Close()
			return
		}
		c.Close()
		if time.Now().After(deadline) {
			t.Fatal("an answer that came before the request was taken for the request's")
		}
	}
}

func TestABannerIsNoAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			write(c, "%s%s", rangeHead(7, 1000), object[7:1007])
			setsockopt(t, c, unix.TCP_QUICKACK, 0)
			t.Cleanup(func() { c.Close() })
		}
	}()
	u := mustParse(t, "http://"+l.Addr().String()+"/")
	for deadline := time.Now().Add(time.Minute); ; {
		c := newTestClient(Config{})
		dial := c.Dial
		c.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return speakFirst{nc.(*net.TCPConn), func() {
				var b [1]byte
				raw, _ := nc.(syscall.Conn).SyscallConn()
				raw.Read(func(fd uintptr) bool { // wait for the banner, leave it there
					_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
					return err != syscall.EAGAIN
				})
			}}, nil
		}
		r := c.Get(t.Context(), ranged(u, 7, 1000))
		c.Close()
		if r.Outcome == records.Status && r.TTFBNs == 0 && r.Status == 0 && strings.Contains(r.Error, "before the server had the request") {
			return
		}
		wantOK(t, r)
		if time.Now().After(deadline) {
			t.Fatal("a banner was taken for an answer")
		}
	}
}

// Bytes that TLS has read ahead are unasked, too.
func TestUnaskedBytesInsideTLSEndAConnection(t *testing.T) {
	serverTLS, clientTLS := testTLS(t)
	var dialled atomic.Int64
	s := newServer(t, serverTLS, func(c net.Conn, r *http.Request, served int) bool {
		if served == 0 {
			dialled.Add(1)
		}
		setsockopt(t, c, unix.TCP_CORK, 1) // one segment, two TLS records
		answer(c, r)
		write(c, "HTTP/1.1 408 Request Timeout\r\n\r\n")
		setsockopt(t, c, unix.TCP_CORK, 0)
		return true
	})
	c := newTestClient(Config{TLS: clientTLS})
	defer c.Close()
	for range 5 {
		wantOK(t, c.Get(t.Context(), ranged(s.url("https"), 7, 1000)))
	}
	if got := dialled.Load(); got != 5 {
		t.Errorf("%d connections, want 5", got)
	}
}

func TestARedirectLeavesNothingOfItsAnswer(t *testing.T) {
	const think = 20 * time.Millisecond
	var last *server
	serverTLS, clientTLS := testTLS(t)
	behaviour := func(c net.Conn, r *http.Request, _ int) bool {
		switch r.URL.Path {
		case "/silent":
			last.hang()
		case "/late":
			time.Sleep(think)
			answer(c, r)
		}
		return false
	}
	last = newServer(t, nil, behaviour)
	secure := newServer(t, serverTLS, behaviour)
	nobody := refusing(t)
	for name, c := range map[string]struct {
		location string
		want     records.Outcome
		tls      bool
		silent   bool
	}{
		"never answers":       {"http://" + last.Addr().String() + "/silent", records.Stalled, false, true},
		"closes":              {"http://" + last.Addr().String() + "/close", records.Reset, false, false},
		"refuses":             {"http://" + nobody + "/", records.Connect, false, false},
		"does not shake hand": {"https://" + nobodySays(t) + "/", records.Connect, true, true},
		"answers":             {"http://" + last.Addr().String() + "/late", records.OK, false, false},
		"answers over TLS":    {"https://" + secure.Addr().String() + "/late", records.OK, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			first := newServer(t, nil, func(conn net.Conn, r *http.Request, _ int) bool {
				time.Sleep(think)
				write(conn, "HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", c.location)
				return true
			})
			t.Parallel()
			stall := time.Minute
			if c.silent {
				stall = time.Second
			}
			client := newTestClient(Config{TLS: clientTLS, Stall: stall})
			defer client.Close()
			for i := range 2 { // the second time the first hop's connection is kept
				r := client.Get(t.Context(), ranged(first.url("http"), 5, 1000))
				if r.Outcome != c.want || r.Redirects != 1 || r.Reused {
					t.Fatalf("request %d: %s %q, %d redirects, reused %v; want %s, 1", i, r.Outcome, r.Error, r.Redirects, r.Reused, c.want)
				}
				answered := c.want == records.OK
				if answered != (r.Status == 206) || answered != (r.HTTP != "") || answered != (r.TTFBNs >= int64(think)) || answered != (r.TTFBNs != 0) || answered != (r.Receiving > 0) {
					t.Errorf("request %d: status %d, HTTP %q, TTFB %d ns, receiving %s", i, r.Status, r.HTTP, r.TTFBNs, r.Receiving)
				}
				if r.RedirectNs < int64(think) || r.RedirectNs+r.ConnectNs+r.TLSNs+r.TTFBNs > r.DurationNs || r.ConnectNs == 0 || c.tls != (r.TLSNs > 0) {
					t.Errorf("request %d: redirect %d, connect %d, TLS %d, TTFB %d, duration %d ns", i, r.RedirectNs, r.ConnectNs, r.TLSNs, r.TTFBNs, r.DurationNs)
				}
			}
		})
	}
}

// refusing returns an address at which nobody listens.
func refusing(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// nobodySays returns the address of a server that accepts and says nothing.
func nobodySays(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// full returns the address of a server that accepts no more connections.
func full(t *testing.T) string {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port)
	for range 10 {
		d := net.Dialer{Timeout: time.Second}
		c, err := d.Dial("tcp", address)
		if err != nil {
			return address
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Fatal("a server with a backlog of 0 takes 10 connections")
	return ""
}

func TestStallCoversConnecting(t *testing.T) {
	const stall = 100 * time.Millisecond
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	for name, c := range map[string]struct {
		url, text string
		dial      func(context.Context, string, string) (net.Conn, error)
	}{
		"a name that nobody knows yet": {"http://slow.test/", "connect: not done after 100ms", func(context.Context, string, string) (net.Conn, error) {
			<-hang // k6's dialer looks a name up to the end
			return nil, context.Canceled
		}},
		"connecting":        {"http://" + full(t) + "/", "connect: not done after 100ms", nil},
		"the TLS handshake": {"https://" + nobodySays(t) + "/", "TLS: not done after 100ms", nil},
	} {
		t.Run(name, func(t *testing.T) {
			request := func(ctx context.Context, cfg Config) Result {
				client := newTestClient(cfg)
				defer client.Close()
				if c.dial != nil {
					client.Dial = c.dial
				}
				return client.Get(ctx, Request{URL: mustParse(t, c.url), Length: 1})
			}
			r := request(t.Context(), Config{Stall: stall})
			if r.Outcome != records.Connect || r.Error != c.text || r.DurationNs < int64(stall) || r.ConnectNs == 0 {
				t.Errorf("%s %q, connect %d ns, duration %d ns; want connect, %q", r.Outcome, r.Error, r.ConnectNs, r.DurationNs, c.text)
			}
			// The deadline is another thing, and so is the end of the cell.
			if r := request(t.Context(), Config{Timeout: stall, Stall: time.Minute}); r.Outcome != records.Timeout {
				t.Errorf("with a deadline: %s %q", r.Outcome, r.Error)
			}
			end := time.Now().Add(stall)
			ctx, cancel := context.WithDeadline(t.Context(), end)
			defer cancel()
			if r := request(ctx, Config{WindowEnd: end}); r.Outcome != records.Cut {
				t.Errorf("without a stall timeout: %s %q, want it cut", r.Outcome, r.Error)
			}
		})
	}
}
