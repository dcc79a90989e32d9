package httpget

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"piecebench/records"
)

func mustParse(tb testing.TB, s string) *url.URL {
	tb.Helper()
	u, err := url.Parse(s)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

// answer writes the right answer to r.
func answer(c net.Conn, r *http.Request) {
	first, last, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Range"), "bytes="), "-")
	from, _ := strconv.ParseInt(first, 10, 64)
	to, _ := strconv.ParseInt(last, 10, 64)
	write(c, "%s%s", rangeHead(from, to-from+1), object[from:to+1])
}

func wantOK(t *testing.T, r Result) {
	t.Helper()
	if r.Outcome != records.OK {
		t.Fatalf("%s %q, want ok", r.Outcome, r.Error)
	}
}

func ranged(u *url.URL, off, length int64) Request {
	return Request{URL: u, Offset: off, Length: length, Size: objectSize, Sink: &checker{at: off}}
}

func TestEveryOffsetAndLength(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(object)))
	}))
	defer srv.Close()
	c := newTestClient(Config{})
	defer c.Close()
	u := mustParse(t, srv.URL+"/piece/x")
	for _, length := range []int64{1, 2, 4095, 4096, 4097, 262143, 262144, 262145, objectSize} {
		for _, off := range []int64{0, 1, 127, 4096, objectSize - length} {
			if off+length > objectSize {
				continue
			}
			for _, check := range []bool{true, false} {
				r := ranged(u, off, length)
				if !check {
					r.Sink = nil
				}
				res := c.Get(t.Context(), r)
				wantOK(t, res)
				if res.Bytes != length || res.WindowBytes != length {
					t.Fatalf("%d at %d: %d bytes, %d in the window", length, off, res.Bytes, res.WindowBytes)
				}
			}
		}
	}
}

func TestConnectionsAreReused(t *testing.T) {
	serverTLS, clientTLS := testTLS(t)
	for _, scheme := range []string{"http", "https"} {
		var dialled atomic.Int64
		cfg := serverTLS
		if scheme == "http" {
			cfg = nil
		}
		s := newServer(t, cfg, func(c net.Conn, r *http.Request, served int) bool {
			if served == 0 {
				dialled.Add(1)
			}
			answer(c, r)
			return true
		})
		for _, fresh := range []bool{false, true} {
			dialled.Store(0)
			c := newTestClient(Config{TLS: clientTLS, Fresh: fresh})
			for i := range int64(5) {
				r := c.Get(t.Context(), ranged(s.url(scheme), i, 100_000))
				wantOK(t, r)
				if reused := i > 0 && !fresh; r.Reused != reused || (r.ConnectNs > 0) == reused || (r.TLSNs > 0) != (!reused && scheme == "https") {
					t.Errorf("%s, fresh %v, request %d: reused %v, connect %d ns, TLS %d ns", scheme, fresh, i, r.Reused, r.ConnectNs, r.TLSNs)
				}
			}
			want := int64(1)
			if fresh {
				want = 5
			}
			if got := dialled.Load(); got != want {
				t.Errorf("%s, fresh %v: %d connections, want %d", scheme, fresh, got, want)
			}
			c.Close()
		}
	}
}

// A server may drop a kept connection at any time; that is no failure.
func TestDroppedIdleConnectionIsReplaced(t *testing.T) {
	serverTLS, clientTLS := testTLS(t)
	for name, second := range map[string]func(net.Conn){
		"closed at the next request": func(net.Conn) {},
		"reset at the next request":  rst,
	} {
		for _, scheme := range []string{"http", "https"} {
			cfg := serverTLS
			if scheme == "http" {
				cfg = nil
			}
			s := newServer(t, cfg, func(c net.Conn, r *http.Request, served int) bool {
				if served > 0 {
					second(c)
					return false
				}
				answer(c, r)
				return true
			})
			c := newTestClient(Config{TLS: clientTLS})
			for i := range 3 {
				r := c.Get(t.Context(), ranged(s.url(scheme), 7, 1000))
				if wantOK(t, r); r.Reused {
					t.Errorf("%s %s: request %d claims a reused connection", scheme, name, i)
				}
			}
			c.Close()
		}
	}
}

func TestUnaskedBytesEndAConnection(t *testing.T) {
	var dialled atomic.Int64
	written := make(chan struct{}, 3)
	s := newServer(t, nil, func(c net.Conn, r *http.Request, served int) bool {
		if served == 0 {
			dialled.Add(1)
		}
		answer(c, r)
		write(c, "HTTP/1.1 408 Request Timeout\r\n\r\n")
		written <- struct{}{} // on loopback, what is written is there
		return true
	})
	c := newTestClient(Config{})
	defer c.Close()
	for range 3 {
		r := c.Get(t.Context(), ranged(s.url("http"), 7, 1000))
		wantOK(t, r)
		<-written
	}
	if got := dialled.Load(); got != 3 {
		t.Errorf("%d connections, want 3", got)
	}
}

func TestRedirects(t *testing.T) {
	s := newServer(t, nil, func(c net.Conn, r *http.Request, _ int) bool {
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/hop/"))
		switch {
		case r.URL.Path == "/piece/x" || err == nil && n == 0:
			answer(c, r)
		case err == nil:
			write(c, "HTTP/1.1 307 Temporary Redirect\r\nLocation: /hop/%d\r\nContent-Length: 5\r\n\r\ngone\n", n-1)
		default:
			write(c, "HTTP/1.1 302 Found\r\nLocation: /loop\r\nContent-Length: 0\r\n\r\n")
		}
		return true
	})
	for path, want := range map[string]Result{
		"/hop/0":  {Request: records.Request{Outcome: "ok", Redirects: 0, Status: 206}},
		"/hop/3":  {Request: records.Request{Outcome: "ok", Redirects: 3, Status: 206}},
		"/hop/10": {Request: records.Request{Outcome: "ok", Redirects: 10, Status: 206}},
		"/hop/11": {Request: records.Request{Outcome: "status", Redirects: 10, Status: 307}},
		"/loop":   {Request: records.Request{Outcome: "status", Redirects: 10, Status: 302}},
	} {
		u := s.url("http")
		u.Path = path
		r := get(t.Context(), Config{}, ranged(u, 5, 1000))
		if r.Outcome != want.Outcome || r.Redirects != want.Redirects || r.Status != want.Status {
			t.Errorf("%s: %s %q, %d redirects, status %d; want %s, %d, %d", path, r.Outcome, r.Error, r.Redirects, r.Status, want.Outcome, want.Redirects, want.Status)
		}
	}
}

func TestRedirectToAnotherServerAndScheme(t *testing.T) {
	serverTLS, clientTLS := testTLS(t)
	last := newServer(t, serverTLS, func(c net.Conn, r *http.Request, _ int) bool { answer(c, r); return true })
	first := newServer(t, nil, func(c net.Conn, r *http.Request, _ int) bool {
		write(c, "HTTP/1.1 301 Moved Permanently\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", last.url("https"))
		return true
	})
	c := newTestClient(Config{TLS: clientTLS})
	defer c.Close()
	for i := range 2 {
		r := c.Get(t.Context(), ranged(first.url("http"), 5, 1000))
		if wantOK(t, r); r.Redirects != 1 || r.Reused != (i == 1) {
			t.Errorf("request %d: %d redirects, reused %v", i, r.Redirects, r.Reused)
		}
	}
}

func TestRequestHead(t *testing.T) {
	heads := make(chan *http.Request, 1)
	s := newServer(t, nil, func(c net.Conn, r *http.Request, _ int) bool {
		heads <- r
		answer(c, r)
		return true
	})
	u := s.url("http")
	u.Path, u.RawQuery = "/piece/a b", "token=1"
	wantOK(t, get(t.Context(), Config{UserAgent: "k6/1"}, ranged(u, 10, 20)))
	r := <-heads
	for name, want := range map[string]string{"Range": "bytes=10-29", "Accept-Encoding": "identity", "User-Agent": "k6/1", "Connection": ""} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if r.Host != s.Addr().String() || r.RequestURI != "/piece/a%20b?token=1" {
		t.Errorf("host %s, target %s", r.Host, r.RequestURI)
	}
}

func TestTTFBIsTheServersTime(t *testing.T) {
	const think = 100 * time.Millisecond
	s := newServer(t, nil, func(c net.Conn, r *http.Request, _ int) bool {
		time.Sleep(think)
		write(c, "%s", rangeHead(0, 2))
		time.Sleep(think)
		write(c, "%s", object[:2])
		return true
	})
	// A client that waits for a CPU when the first byte comes makes what follows look
	// shorter: then it is not the server's time.
	for attempt := 1; ; attempt++ {
		r := get(t.Context(), Config{}, ranged(s.url("http"), 0, 2))
		wantOK(t, r)
		ttfb, dur := time.Duration(r.TTFBNs), time.Duration(r.DurationNs)
		if ttfb < think || dur < 2*think || dur < r.Blocked+ttfb+r.Receiving || r.Sending > ttfb || attempt == 10 {
			t.Fatalf("TTFB %s, receiving %s, duration %s, with a server that takes %s twice", ttfb, r.Receiving, dur, think)
		}
		if r.Receiving >= think/2 {
			return
		}
	}
}

func TestOnlyBytesInsideTheWindowCount(t *testing.T) {
	var start time.Time
	var s *server
	for lead := 500 * time.Millisecond; ; lead *= 2 { // a busy machine reads the first bytes late
		opens := time.Now().Add(lead)
		s, start = newServer(t, nil, func(c net.Conn, r *http.Request, _ int) bool {
			write(c, "%s%s", rangeHead(0, 3000), object[:1000]) // before the window
			time.Sleep(time.Until(opens.Add(50 * time.Millisecond)))
			write(c, "%s", object[1000:3000])
			return true
		}), opens
		r := get(t.Context(), Config{WindowStart: start, WindowEnd: start.Add(time.Hour)}, ranged(s.url("http"), 0, 3000))
		if wantOK(t, r); r.Bytes == 3000 && r.WindowBytes == 2000 {
			break
		}
		if lead > 10*time.Second {
			t.Fatalf("%d bytes, %d in the window; want 3000, 2000", r.Bytes, r.WindowBytes)
		}
	}
	// One that ends after the window is cut, and what came later does not count.
	r := get(t.Context(), Config{WindowStart: start.Add(-time.Hour), WindowEnd: start.Add(-time.Minute)}, ranged(s.url("http"), 0, 3000))
	if r.Outcome != records.Cut || r.WindowBytes != 0 {
		t.Errorf("after the window: %s, %d bytes in it", r.Outcome, r.WindowBytes)
	}
}

func TestDeadlineWhileConnecting(t *testing.T) {
	c := New(Config{Timeout: 50 * time.Millisecond, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	u := mustParse(t, "http://x/")
	if r := c.Get(t.Context(), Request{URL: u, Length: 1}); r.Outcome != records.Timeout || r.ConnectNs == 0 {
		t.Errorf("%s %q, connect %d ns; want timeout", r.Outcome, r.Error, r.ConnectNs)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := c.Get(ctx, Request{URL: u, Length: 1}); r.Outcome != records.Cut {
		t.Errorf("%s %q, want cut", r.Outcome, r.Error)
	}
}

// On a fast connection the reader is woken for batches of bytes; the last ones
// must be seen, and counted, none the less.
func TestFewBytesAfterMany(t *testing.T) {
	serverTLS, clientTLS := testTLS(t)
	for scheme, cfg := range map[string]*tls.Config{"http": nil, "https": serverTLS} {
		for _, check := range []bool{false, true} {
			for _, whole := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, checked %v, whole %v", scheme, check, whole), func(t *testing.T) {
					t.Parallel()
					stall := time.Minute
					if !whole {
						stall = 5 * time.Second
					}
					c := newTestClient(Config{TLS: clientTLS, Stall: stall})
					defer c.Close()
					fewBytesAfterMany(t, c, scheme, cfg, check, whole)
				})
			}
		}
	}
}

func fewBytesAfterMany(t *testing.T, c *Client, scheme string, cfg *tls.Config, check, whole bool) {
	t.Helper()
	const tail = 30 // bytes, one at a time
	var s *server
	s = newServer(t, cfg, func(c net.Conn, _ *http.Request, served int) bool {
		write(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", objectSize, object[:objectSize-tail])
		for _, b := range object[objectSize-tail : objectSize-1] {
			time.Sleep(2 * time.Millisecond)
			c.Write([]byte{b})
		}
		if !whole {
			s.hang()
		}
		write(c, "%s", object[objectSize-1:])
		return true
	})
	requests := 3 // the next head is shorter than a batch
	if !whole {
		requests = 1
	}
	for i := range requests {
		r := Request{URL: s.url(scheme), Whole: true, Length: objectSize}
		if check {
			r.Sink = new(checker)
		}
		res := c.Get(t.Context(), r)
		want, bytes := records.OK, int64(objectSize)
		if !whole {
			want, bytes = records.Stalled, objectSize-1
		}
		if res.Outcome != want || res.Bytes != bytes || res.Reused != (whole && i > 0) {
			t.Fatalf("request %d: %s %q, %d bytes, reused %v; want %s, %d",
				i, res.Outcome, res.Error, res.Bytes, res.Reused, want, bytes)
		}
	}
}

// descriptors counts this process's open files.
func descriptors(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("SKIPPED: no /proc/self/fd here: ", err)
	}
	return len(names)
}

func TestNothingIsLeftBehind(t *testing.T) {
	serverTLS, clientTLS := testTLS(t)
	round := func() {
		for _, scheme := range []string{"http", "https"} {
			cfg := serverTLS
			if scheme == "http" {
				cfg = nil
			}
			s := newServer(t, cfg, func(c net.Conn, r *http.Request, served int) bool {
				if served == 3 {
					rst(c)
					return false
				}
				answer(c, r)
				return true
			})
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					c := newTestClient(Config{TLS: clientTLS, Timeout: time.Minute, Stall: time.Minute})
					defer c.Close()
					for i := range int64(20) {
						wantOK(t, c.Get(t.Context(), ranged(s.url(scheme), i, 1000)))
					}
				})
			}
			wg.Wait()
			s.stop()
		}
	}
	round()
	goroutines, files := runtime.NumGoroutine(), descriptors(t)
	for range 3 {
		round()
	}
	// What has ended may take a moment to be gone.
	for wait := time.Now().Add(10 * time.Second); time.Now().Before(wait); time.Sleep(10 * time.Millisecond) {
		if runtime.NumGoroutine() <= goroutines && descriptors(t) <= files {
			return
		}
	}
	t.Errorf("goroutines %d -> %d, descriptors %d -> %d after 2400 requests", goroutines, runtime.NumGoroutine(), files, descriptors(t))
}
