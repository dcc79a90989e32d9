package httpget

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"
)

// objectSize is that of the object which all test servers have, and of which
// byte i is content(i).
const objectSize = 1 << 20

func content(i int64) byte { return byte(i*7 + i>>11) }

var object = func() []byte {
	b := make([]byte, objectSize)
	for i := range b {
		b[i] = content(int64(i))
	}
	return b
}()

// checker compares what it is given with the object.
type checker struct{ at int64 }

func (c *checker) Write(b []byte) (int, error) {
	for i, got := range b {
		if want := content(c.at + int64(i)); got != want {
			return i, fmt.Errorf("byte %d is 0x%02x, want 0x%02x", c.at+int64(i), got, want)
		}
	}
	c.at += int64(len(b))
	return len(b), nil
}

// server answers each request with what behave writes to the connection, and
// then closes it, unless behave returns true.
type server struct {
	net.Listener
	tb     testing.TB
	behave func(c net.Conn, r *http.Request, served int) (keep bool)
	quit   chan struct{}
	wg     sync.WaitGroup
	once   sync.Once
}

// newServer serves plain HTTP, or TLS with cfg.
func newServer(tb testing.TB, cfg *tls.Config, behave func(net.Conn, *http.Request, int) bool) *server {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	if cfg != nil {
		l = tls.NewListener(l, cfg)
	}
	s := &server{Listener: l, tb: tb, behave: behave, quit: make(chan struct{})}
	s.wg.Go(s.accept)
	tb.Cleanup(s.stop)
	return s
}

func (s *server) stop() {
	s.once.Do(func() {
		close(s.quit)
		s.Close()
		s.wg.Wait()
	})
}

func (s *server) accept() {
	for {
		c, err := s.Accept()
		if err != nil {
			return
		}
		s.wg.Go(func() { s.serve(c) })
	}
}

func (s *server) serve(c net.Conn) {
	defer c.Close()
	ended := make(chan struct{})
	defer close(ended)
	go func() { // a behaviour may block in a write
		select {
		case <-s.quit:
			c.Close()
		case <-ended:
		}
	}()
	br := bufio.NewReader(c)
	for served := 0; ; served++ {
		r, err := http.ReadRequest(br)
		if err != nil || !s.behave(c, r, served) {
			return
		}
	}
}

// hang blocks until the test ends.
func (s *server) hang() { <-s.quit }

func (s *server) url(scheme string) *url.URL {
	return &url.URL{Scheme: scheme, Host: s.Addr().String(), Path: "/piece/x"}
}

// rst makes the connection end with a reset instead of a FIN.
func rst(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	c.(*net.TCPConn).SetLinger(0)
}

// rangeHead is the head of a right answer to a request for length bytes at off.
func rangeHead(off, length int64) string {
	return fmt.Sprintf("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %d-%d/%d\r\nContent-Length: %d\r\n\r\n",
		off, off+length-1, objectSize, length)
}

// testTLS is a certificate that the returned client configuration trusts. It is
// an elliptic one: thousands of handshakes are quick.
func testTLS(tb testing.TB) (server, client *tls.Config) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, &tls.Config{RootCAs: pool}
}

func newTestClient(cfg Config) *Client {
	var d net.Dialer
	cfg.Dial = d.DialContext
	cfg.MaxRedirects = 10
	return New(cfg)
}

// get sends one request with a client of its own.
func get(ctx context.Context, cfg Config, r Request) Result {
	c := newTestClient(cfg)
	defer c.Close()
	return c.Get(ctx, r)
}

// trickle writes a byte now and then until the client is gone.
func trickle(c net.Conn) {
	for {
		if _, err := c.Write([]byte{0}); err != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func write(c io.Writer, format string, args ...any) { fmt.Fprintf(c, format, args...) }
