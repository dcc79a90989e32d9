package httpget

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"piecebench/records"
)

// Of an object whose size nobody knows beforehand, the answer says it.
func TestObjectsOfUnknownLength(t *testing.T) {
	body := string(object[:300_000])
	chunks := "186a0\r\n" + body[:100_000] + "\r\n30d40\r\n" + body[100_000:] + "\r\n"
	serverTLS, clientTLS := testTLS(t)
	for _, c := range []struct {
		name, answer string
		most, length int64
		want         records.Outcome
		keeps        bool
	}{
		{name: "Content-Length", answer: "Content-Length: 300000\r\n\r\n" + body, length: 300_000, want: records.OK, keeps: true},
		{name: "empty", answer: "Content-Length: 0\r\n\r\n", want: records.OK, keeps: true},
		{name: "chunks", answer: "Transfer-Encoding: chunked\r\n\r\n" + chunks + "0\r\n\r\n", length: 300_000, want: records.OK, keeps: true},
		{name: "until the end", answer: "Connection: close\r\n\r\n" + body, length: 300_000, want: records.OK},
		{name: "short", answer: "Content-Length: 300001\r\n\r\n" + body, length: 300_001, want: records.Short},
		{name: "chunks without an end", answer: "Transfer-Encoding: chunked\r\n\r\n" + chunks, want: records.Short},
		{name: "too long", answer: "Content-Length: 300000\r\n\r\n" + body, most: 299_999, length: 300_000, want: records.Range},
		{name: "chunks, too long", answer: "Transfer-Encoding: chunked\r\n\r\n" + chunks + "0\r\n\r\n", most: 299_999, want: records.Range},
		{name: "as long as may be", answer: "Transfer-Encoding: chunked\r\n\r\n" + chunks + "0\r\n\r\n", most: 300_000, length: 300_000, want: records.OK, keeps: true},
	} {
		for scheme, cfg := range map[string]bool{"http": false, "https": true} {
			for _, sink := range []bool{false, true} {
				tls := serverTLS
				if !cfg {
					tls = nil
				}
				s := newServer(t, tls, func(nc net.Conn, _ *http.Request, _ int) bool {
					write(nc, "HTTP/1.1 200 OK\r\n%s", c.answer)
					return c.keeps
				})
				client := newTestClient(Config{TLS: clientTLS})
				for again := range 2 {
					r := Request{URL: s.url(scheme), Whole: true, Length: Unknown, Most: c.most}
					if sink {
						r.Sink = new(checker)
					}
					res := client.Get(t.Context(), r)
					if res.Outcome != c.want || res.Length != c.length || c.want == records.OK && res.Bytes != c.length || res.Reused != (c.keeps && again == 1) {
						t.Errorf("%s, %s, sink %v: %s %q, length %d, %d bytes, reused %v", c.name, scheme, sink, res.Outcome, res.Error, res.Length, res.Bytes, res.Reused)
					}
				}
				client.Close()
				s.stop()
			}
		}
	}
}

func TestATimeoutOfOneRequest(t *testing.T) {
	var s *server
	s = newServer(t, nil, func(net.Conn, *http.Request, int) bool { s.hang(); return false })
	res := get(t.Context(), Config{Timeout: time.Hour}, Request{URL: s.url("http"), Length: 1, Timeout: 30 * time.Millisecond})
	if res.Outcome != records.Timeout || !strings.Contains(res.Error, "not done after 30ms") {
		t.Errorf("%s %q", res.Outcome, res.Error)
	}
}
