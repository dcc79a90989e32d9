package httpget

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"piecebench/internal/plain"
	"piecebench/records"
)

func TestWhatAServerSaysIsShortAndPrintable(t *testing.T) {
	evil := strings.Repeat("\x1b]0;title\a\x7f\u009b31m\u202e\u2028\xff", 2500) // 60 KB
	for name, says := range map[string]string{
		"a status line that is none": evil + "\r\n\r\n",
		"a protocol":                 "HTTP/" + evil + " 206 OK\r\n\r\n",
		"a status":                   "HTTP/1.1 " + evil + " OK\r\n\r\n",
		"a reason":                   "HTTP/1.1 404 " + evil + "\r\nContent-Length: 0\r\n\r\n",
		"a header that is none":      status206 + evil + "\r\n\r\n",
		"an encoding":                status206 + rightRange + "Content-Encoding: " + evil + "\r\n\r\n",
		"a range":                    status206 + "Content-Range: bytes " + evil + "\r\n\r\n",
		"a length":                   status206 + rightRange + "Content-Length: " + evil + "\r\n\r\n",
		"a transfer encoding":        status206 + rightRange + "Transfer-Encoding: " + evil + "\r\n\r\n",
		"a chunk":                    status206 + rightRange + "Transfer-Encoding: chunked\r\n\r\n" + evil + "\r\n",
		"a redirect":                 "HTTP/1.1 302 Found\r\nLocation: http://" + evil + "/\r\nContent-Length: 0\r\n\r\n",
		"a redirect to a name":       "HTTP/1.1 302 Found\r\nLocation: http://" + strings.Repeat("long.", 10_000) + "test/\r\nContent-Length: 0\r\n\r\n",
		"a redirect to a port":       "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:" + strings.Repeat("9", 60_000) + "/\r\nContent-Length: 0\r\n\r\n",
	} {
		s := newServer(t, nil, func(c net.Conn, _ *http.Request, _ int) bool {
			write(c, "%s", says)
			return false
		})
		r := get(t.Context(), Config{Stall: time.Minute}, Request{URL: s.url("http"), Offset: askOffset, Length: askLength, Size: objectSize})
		if r.Outcome == records.OK || r.Outcome == records.Cut || r.Error == "" {
			t.Errorf("%s: %s %q, want a failure with an error", name, r.Outcome, r.Error)
		}
		for _, text := range []string{r.Error, r.HTTP} {
			strange := func(c rune) bool { return !unicode.IsPrint(c) }
			if len(text) > plain.MaxLine || !utf8.ValidString(text) || strings.ContainsFunc(text, strange) {
				t.Errorf("%s: %d bytes: %q", name, len(text), text)
			}
		}
		t.Logf("%s: %s: %s", name, r.Outcome, r.Error)
	}
}
