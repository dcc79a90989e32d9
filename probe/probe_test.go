package probe

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func TestBadInputIsOneLineWithoutSecrets(t *testing.T) {
	p := newStored(t)
	for name, o := range map[string]Options{
		"no URL":            {URL: "secret"},
		"another scheme":    {URL: "ftp://user:secret@host/{piece}", CID: p.cid.String()},
		"no CID":            {URL: "http://user:secret@host/{piece}?secret"},
		"a bad CID":         {URL: "http://user:secret@host/{piece}", CID: "baga"},
		"two CIDs":          {URL: "http://host/" + p.cid.String(), CID: "baga6ea4seaqpy7usqklokfx2vxuynmupslkeutzexe2uqurdg5vhtebhxqmpqmy"},
		"nobody listens":    {URL: "http://user:secret@127.0.0.1:1/{piece}?x=secret", CID: p.cid.String()},
		"nobody has TLS":    {URL: "https://user:secret@127.0.0.1:1/{piece}?x=secret", CID: p.cid.String()},
		"too few bytes":     {URL: "http://host/{piece}", CID: p.cid.String(), MaxBytes: 1},
		"a timeout of less": {URL: "http://host/{piece}", CID: p.cid.String(), Timeout: -1},
	} {
		if o.MaxBytes == 0 {
			o.MaxBytes = minBytes
		}
		if o.Timeout == 0 {
			o.Timeout = 10 * time.Second
		}
		_, err := Run(t.Context(), o)
		if err == nil || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "secret") && o.URL != "secret" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTextsOfAServerAreShortAndPlain(t *testing.T) {
	p := newStored(t)
	evil := strings.Repeat("\u202e\u200b", 300) // Go's client refuses control characters itself
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"ETag", "Accept-Ranges", "Content-Encoding", "Content-Type"} {
			w.Header().Set(name, evil)
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(p.data))
	}))
	defer server.Close()
	r := probed(t, Options{URL: server.URL + "/piece/{piece}", CID: p.cid.String()})
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		if utf8.RuneCountInString(line) > textWidth || strings.ContainsFunc(line, func(c rune) bool { return !unicode.IsPrint(c) }) {
			t.Errorf("%q", line)
		}
	}
	if r.Count(Warn)+r.Count(Fail) < 3 {
		t.Error(b.String())
	}
}

// A server that never ends a body, and lies about the size, gets no more than the bounds.
func TestTheBoundsHold(t *testing.T) {
	p := newStored(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.Header().Set("Content-Length", "34091302912")
			return
		}
		w.Header().Set("Content-Length", "34091302912")
		for page := make([]byte, 64<<10); ; {
			if _, err := w.Write(page); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	r := probed(t, Options{URL: server.URL + "/piece/{piece}", CID: p.cid.String(), MaxBytes: 2 << 20})
	if r.Bytes > 2<<20 || r.Requests > MaxRequests {
		t.Errorf("%d bytes, %d requests", r.Bytes, r.Requests)
	}
	expect(t, r, map[string]Verdict{"range": Fail, "unknown CID": Fail, "malformed CID": Fail, "bytes": Skip, "parallel": Skip}, "200, not 206")
}

func TestAnInterruptedProbeConcludesNothing(t *testing.T) {
	p := newStored(t)
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-Range") != "" {
			cancel()
			return
		}
		p.ServeHTTP(w, r)
	}))
	defer server.Close()
	_, err := Run(ctx, Options{URL: server.URL + "/piece/{piece}", CID: p.cid.String(), MaxBytes: minBytes, Timeout: time.Minute})
	if err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Error(err)
	}
}
