package httpget

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"piecebench/records"
)

// What the outcome tests ask for.
const (
	askOffset = 500_001
	askLength = 100_000
)

// A misbehaviour is a server that is wrong in one way, and the outcome that
// each request to it must have.
type misbehaviour struct {
	name   string
	answer func(s *server, c net.Conn)
	// The client: whole object or range, checked or not, its patience.
	whole, check   bool
	timeout, stall time.Duration
	want           records.Outcome
	text           string // in the error
	bytes          int64  // of the body that must have been counted
}

func say(format string, args ...any) func(*server, net.Conn) {
	return func(_ *server, c net.Conn) { write(c, format, args...) }
}

// asked is the right body, and half of it.
var (
	asked = object[askOffset : askOffset+askLength]
	half  = asked[:askLength/2]
)

const (
	status206 = "HTTP/1.1 206 Partial Content\r\n"
	badRange  = "Content-Range does not match"
)

func headFor(first, last, size, length int64) string {
	return fmt.Sprintf("%sContent-Range: bytes %d-%d/%d\r\nContent-Length: %d\r\n\r\n", status206, first, last, size, length)
}

var rightRange = fmt.Sprintf("Content-Range: bytes %d-%d/%d\r\n", askOffset, askOffset+askLength-1, objectSize)

func flipped(at int) []byte {
	b := bytes.Clone(asked)
	b[at] ^= 0x10
	return b
}

var misbehaviours = []misbehaviour{
	{name: "none", want: records.OK, bytes: askLength,
		answer: say("%s%s", rangeHead(askOffset, askLength), asked)},
	{name: "none, checked", check: true, want: records.OK, bytes: askLength,
		answer: say("%s%s", rangeHead(askOffset, askLength), asked)},
	{name: "none, chunked", check: true, want: records.OK, bytes: askLength,
		answer: say("%s%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n%x\r\n%s\r\n0\r\nX-Trailer: 1\r\n\r\n",
			status206, rightRange, len(half), half, len(half), asked[len(half):])},
	{name: "none, HTTP/1.0 until close", check: true, want: records.OK, bytes: askLength,
		answer: say("HTTP/1.0 206 OK\r\n%s\r\n%s", rightRange, asked)},
	{name: "none, whole object", whole: true, check: true, want: records.OK, bytes: objectSize,
		answer: say("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", objectSize, object)},
	{name: "none, interim response first", want: records.OK, bytes: askLength,
		answer: say("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n%s%s", rangeHead(askOffset, askLength), asked)},
	{name: "none, size unknown to the server", want: records.OK, bytes: askLength,
		answer: say("%sContent-Range: bytes %d-%d/*\r\nContent-Length: %d\r\n\r\n%s",
			status206, askOffset, askOffset+askLength-1, askLength, asked)},

	{name: "reset instead of an answer", want: records.Reset, text: "no response",
		answer: func(_ *server, c net.Conn) { rst(c) }},
	{name: "close instead of an answer", want: records.Reset, text: "no response",
		answer: func(*server, net.Conn) {}},
	{name: "close inside the head", want: records.Reset, text: "response head",
		answer: say("HTTP/1.1 206 Partial Content\r\nContent-Le")},
	{name: "reset inside the head", want: records.Reset, text: "response head",
		answer: func(s *server, c net.Conn) {
			write(c, "HTTP/1.1 206 Partial Content\r\nContent-Le")
			time.Sleep(20 * time.Millisecond) // a reset throws away what the client has not read
			rst(c)
		}},

	{name: "never answers", stall: 100 * time.Millisecond, want: records.Stalled, text: "no byte for 100ms",
		answer: func(s *server, c net.Conn) { s.hang() }},
	{name: "stops in the body", stall: 300 * time.Millisecond, want: records.Stalled, bytes: askLength / 2,
		answer: func(s *server, c net.Conn) { write(c, "%s%s", rangeHead(askOffset, askLength), half); s.hang() }},
	{name: "stops in the body, checked", check: true, stall: 300 * time.Millisecond, want: records.Stalled, bytes: askLength / 2,
		answer: func(s *server, c net.Conn) { write(c, "%s%s", rangeHead(askOffset, askLength), half); s.hang() }},
	{name: "stops inside a chunk", stall: 300 * time.Millisecond, want: records.Stalled, bytes: askLength / 2,
		answer: func(s *server, c net.Conn) {
			write(c, "%s%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s", status206, rightRange, askLength, half)
			s.hang()
		}},
	{name: "trickles past the deadline", timeout: 200 * time.Millisecond, stall: time.Minute, want: records.Timeout, text: "not done after 200ms", bytes: -1,
		answer: func(_ *server, c net.Conn) { write(c, "%s", rangeHead(askOffset, askLength)); trickle(c) }},
	{name: "no answer until the deadline", timeout: 100 * time.Millisecond, want: records.Timeout,
		answer: func(s *server, c net.Conn) { s.hang() }},

	{name: "404", want: records.Status, text: "status 404, want 206",
		answer: say("HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot here\n")},
	{name: "416", want: records.Status, text: "status 416",
		answer: say("HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */%d\r\nContent-Length: 0\r\n\r\n", objectSize)},
	{name: "429", want: records.Status, text: "status 429", answer: say("HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n")},
	{name: "204", want: records.Status, text: "status 204", answer: say("HTTP/1.1 204 No Content\r\n\r\n")},
	{name: "206 for the whole object", whole: true, want: records.Status, text: "status 206, want 200",
		answer: say("%sContent-Range: bytes 0-%d/%d\r\nContent-Length: %d\r\n\r\n%s", status206, objectSize-1, objectSize, objectSize, object)},
	{name: "redirect without a place", want: records.Status, text: "status 302",
		answer: say("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n")},
	{name: "not HTTP", want: records.Status, text: "malformed",
		answer: say("SSH-2.0-OpenSSH_9.2\r\n\r\n")},
	{name: "endless head", want: records.Status, text: "larger than 65536 bytes",
		answer: func(_ *server, c net.Conn) {
			write(c, "HTTP/1.1 206 OK\r\n")
			for range 2000 {
				if _, err := fmt.Fprintf(c, "X-Pad: %s\r\n", strings.Repeat("x", 100)); err != nil {
					return
				}
			}
		}},

	{name: "200 for a range", want: records.Range, text: "the range was ignored",
		answer: say("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", askLength, asked)},
	{name: "no Content-Range", want: records.Range, text: badRange + " the request: it is missing",
		answer: say("%sContent-Length: %d\r\n\r\n%s", status206, askLength, asked)},
	{name: "another range", want: records.Range, text: badRange,
		answer: say("%s%s", headFor(askOffset+1, askOffset+askLength, objectSize, askLength), asked)},
	{name: "shorter range", want: records.Range, text: badRange,
		answer: say("%s%s", headFor(askOffset, askOffset+askLength-2, objectSize, askLength-1), asked[1:])},
	{name: "range of an object of another size", want: records.Range, text: badRange,
		answer: say("%s%s", headFor(askOffset, askOffset+askLength-1, objectSize+1, askLength), asked)},
	{name: "Content-Range with a sign", want: records.Range, text: badRange,
		answer: say("%sContent-Range: bytes +%d-%d/%d\r\nContent-Length: %d\r\n\r\n%s", status206, askOffset, askOffset+askLength-1, objectSize, askLength, asked)},
	{name: "several ranges", want: records.Range, text: badRange,
		answer: say("%sContent-Type: multipart/byteranges; boundary=x\r\nContent-Length: 10\r\n\r\n--x\r\n\r\n...", status206)},
	{name: "Content-Length is not the range's", want: records.Range, text: "Content-Length 99999, want 100000",
		answer: say("%s%sContent-Length: %d\r\n\r\n%s", status206, rightRange, askLength-1, asked[1:])},
	{name: "another size of the whole object", whole: true, want: records.Range, text: "Content-Length",
		answer: say("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", objectSize-1, object[1:])},
	{name: "compressed", want: records.Range, text: "Content-Encoding gzip",
		answer: say("%s%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", status206, rightRange, askLength, asked)},
	{name: "more chunks than asked for", want: records.Range, text: "more than", bytes: askLength,
		answer: say("%s%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n1\r\nx\r\n0\r\n\r\n", status206, rightRange, askLength, asked)},
	{name: "more until close than asked for", want: records.Range, text: "more than", bytes: askLength,
		answer: say("HTTP/1.0 206 OK\r\n%s\r\n%sx", rightRange, asked)},

	{name: "close in the body", want: records.Short, text: "body ended early: EOF", bytes: askLength / 2,
		answer: say("%s%s", rangeHead(askOffset, askLength), half)},
	{name: "close in the body, checked", check: true, want: records.Short, text: "body ended early: EOF", bytes: askLength / 2,
		answer: say("%s%s", rangeHead(askOffset, askLength), half)},
	{name: "close before the last byte", want: records.Short, text: "EOF", bytes: askLength - 1,
		answer: say("%s%s", rangeHead(askOffset, askLength), asked[1:])},
	{name: "reset in the body", want: records.Short, text: "body ended early", bytes: -1,
		answer: func(_ *server, c net.Conn) { write(c, "%s%s", rangeHead(askOffset, askLength), half); rst(c) }},
	{name: "close inside a chunk", want: records.Short, text: "EOF", bytes: askLength / 2,
		answer: say("%s%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s", status206, rightRange, askLength, half)},
	{name: "close before the last chunk", want: records.Short, text: "EOF", bytes: askLength,
		answer: say("%s%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", status206, rightRange, askLength, asked)},
	{name: "HTTP/1.0, truncated", want: records.Short, text: "EOF", bytes: askLength / 2,
		answer: say("HTTP/1.0 206 OK\r\n%s\r\n%s", rightRange, half)},
	{name: "whole object, truncated until close", whole: true, want: records.Short, text: "EOF", bytes: askLength,
		answer: say("HTTP/1.0 200 OK\r\n\r\n%s", asked)},

	{name: "wrong first byte", check: true, want: records.Corrupt, text: "byte 500001 is", bytes: -1,
		answer: say("%s%s", rangeHead(askOffset, askLength), flipped(0))},
	{name: "wrong byte in the middle", check: true, want: records.Corrupt, text: "byte 550001 is", bytes: -1,
		answer: say("%s%s", rangeHead(askOffset, askLength), flipped(50_000))},
	{name: "wrong last byte", check: true, want: records.Corrupt, text: "byte 600000 is", bytes: -1,
		answer: say("%s%s", rangeHead(askOffset, askLength), flipped(askLength-1))},
	{name: "right bytes of another offset", check: true, want: records.Corrupt, text: "byte 500001 is", bytes: -1,
		answer: say("%s%s", rangeHead(askOffset, askLength), object[askOffset+1:][:askLength])},
	{name: "wrong byte in a chunk", check: true, want: records.Corrupt, text: "byte 550001 is", bytes: -1,
		answer: say("%s%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", status206, rightRange, askLength, flipped(50_000))},
}

func TestEachMisbehaviourHasItsOutcome(t *testing.T) {
	serverTLS, clientTLS := testTLS(t)
	for scheme, counts := range map[string][]int{"http": {1, 200}, "https": {1, 20}} {
		for _, clients := range counts {
			t.Run(fmt.Sprintf("%s/%d clients", scheme, clients), func(t *testing.T) {
				for _, m := range misbehaviours {
					t.Run(m.name, func(t *testing.T) {
						cfg := serverTLS
						if scheme == "http" {
							cfg = nil
						}
						m.run(t, scheme, cfg, clientTLS, clients)
					})
				}
			})
		}
	}
}

func (m misbehaviour) run(t *testing.T, scheme string, serverTLS, clientTLS *tls.Config, clients int) {
	var s *server
	s = newServer(t, serverTLS, func(c net.Conn, _ *http.Request, _ int) bool {
		m.answer(s, c)
		return false
	})
	results := make([]Result, clients)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			r := Request{URL: s.url(scheme), Whole: m.whole, Offset: askOffset, Length: askLength, Size: objectSize}
			if m.whole {
				r.Offset, r.Length = 0, objectSize
			}
			if m.check {
				r.Sink = &checker{at: r.Offset}
			}
			// On a busy machine the handshake itself may take the stall timeout.
			for deadline := time.Now().Add(time.Minute); ; {
				results[i] = get(t.Context(), Config{TLS: clientTLS, Timeout: m.timeout, Stall: m.stall}, r)
				if m.stall == 0 || !strings.HasSuffix(results[i].Error, "not done after "+m.stall.String()) || time.Now().After(deadline) {
					break
				}
				if m.check {
					r.Sink = &checker{at: r.Offset}
				}
			}
		})
	}
	wg.Wait()
	for i, r := range results {
		if r.Outcome != m.want || !strings.Contains(r.Error, m.text) || (m.want == records.OK) != (r.Error == "") {
			t.Fatalf("client %d: %s %q, want %s with %q", i, r.Outcome, r.Error, m.want, m.text)
		}
		// A server that is busy with 200 handshakes may be silent for so long itself.
		if m.want == records.Stalled && clients > 1 {
			continue
		}
		if m.bytes >= 0 && r.Bytes != m.bytes {
			t.Fatalf("client %d: %d bytes counted, want %d", i, r.Bytes, m.bytes)
		}
	}
}

func TestCutRequestsKeepTheirBytes(t *testing.T) {
	for _, clients := range []int{1, 200} {
		var s *server
		var halves sync.WaitGroup
		halves.Add(clients)
		s = newServer(t, nil, func(c net.Conn, _ *http.Request, _ int) bool {
			write(c, "%s%s", rangeHead(askOffset, askLength), half)
			halves.Done()
			s.hang()
			return false
		})
		ctx, cancel := context.WithCancel(t.Context())
		var all []*Client
		var wg sync.WaitGroup
		for range clients {
			c := newTestClient(Config{Stall: time.Minute})
			all = append(all, c)
			wg.Go(func() {
				r := c.Get(ctx, Request{URL: s.url("http"), Offset: askOffset, Length: askLength, Size: objectSize})
				if r.Outcome != records.Cut || r.Bytes != askLength/2 || r.Error != "" {
					t.Errorf("%s %q with %d bytes, want cut with %d", r.Outcome, r.Error, r.Bytes, askLength/2)
				}
			})
		}
		halves.Wait()
		for _, c := range all {
			for c.Received() < askLength/2 {
				time.Sleep(time.Millisecond)
			}
		}
		cancel()
		wg.Wait()
	}
}

func TestNoConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // nobody listens there now
	plain := newServer(t, nil, func(c net.Conn, _ *http.Request, _ int) bool { return false })
	serverTLS, _ := testTLS(t)
	secure := newServer(t, serverTLS, func(net.Conn, *http.Request, int) bool { return false })
	closed := plain.url("http")
	closed.Host = l.Addr().String()
	notTLS, untrusted := plain.url("https"), secure.url("https")

	for _, clients := range []int{1, 200} {
		for text, u := range map[string]string{
			"connect: connection refused": closed.String(), "TLS: ": notTLS.String(), "certificate": untrusted.String(),
		} {
			var wg sync.WaitGroup
			for range clients {
				wg.Go(func() {
					r := get(t.Context(), Config{Stall: time.Minute}, Request{URL: mustParse(t, u), Length: 1})
					if r.Outcome != records.Connect || !strings.Contains(r.Error, text) {
						t.Errorf("%s: %s %q, want connect with %q", u, r.Outcome, r.Error, text)
					}
				})
			}
			wg.Wait()
		}
	}
}
