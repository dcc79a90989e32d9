package gateway_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piecebench/gateway"
	"piecebench/gateway/store"
	"piecebench/internal/testset"
	"piecebench/piece/piececid"
)

// both runs a test on a gateway of each store.
func both(t *testing.T, d testset.Dataset, test func(t *testing.T, address string)) {
	for _, name := range []string{store.UnsealedName, store.FlatName} {
		t.Run(name, func(t *testing.T) {
			test(t, startGateway(t, d, func(c *gateway.Config) { c.Store = name }))
		})
	}
}

func TestV1ServesThePieceV2ThePayload(t *testing.T) {
	d := testset.Import(t, t.TempDir(), 10_000, 65, 127*8)
	both(t, d, func(t *testing.T, address string) {
		for _, p := range d.Manifest.Pieces {
			piece := d.Bytes(p)
			for cid, want := range map[string][]byte{p.CID: piece, p.CIDv2: piece[:p.PayloadSize]} {
				r := get(t, address, "/piece/"+cid)
				if r.Status != 200 || r.Err != nil || !bytes.Equal(r.Body, want) {
					t.Errorf("%s: %d, %d bytes of %d, %v; or wrong bytes", cid, r.Status, len(r.Body), len(want), r.Err)
				}
				if got := r.Header.Get("ETag"); got != `"`+cid+`"` {
					t.Errorf("%s: ETag %s", cid, got)
				}
			}
		}
	})
}

func TestHeadersOfAPiece(t *testing.T) {
	d := testset.Import(t, t.TempDir(), 1000)
	cid := d.Manifest.Pieces[0].CID
	both(t, d, func(t *testing.T, address string) {
		for _, method := range []string{"GET", "HEAD"} {
			// Asked for gzip, too, a piece comes as it is.
			r := do(t, address, method, "/piece/"+cid, "Range: bytes=5-14", "Accept-Encoding: gzip")
			r.Header.Del("Date")
			got := map[string]string{}
			for name := range r.Header {
				got[name] = r.Header.Get(name)
			}
			want := map[string]string{
				"Accept-Ranges":                 "bytes",
				"Access-Control-Allow-Origin":   "*",
				"Access-Control-Expose-Headers": "Accept-Ranges, Content-Disposition, Content-Length, Content-Range, ETag",
				"Cache-Control":                 "public, max-age=29030400, immutable",
				"Content-Disposition":           `attachment; filename="` + cid + `.piece"`,
				"Content-Length":                "10",
				"Content-Range":                 "bytes 5-14/1016",
				"Content-Type":                  "application/piece",
				"Etag":                          `"` + cid + `"`,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: want -, got +\n%s", method, diff)
			}
		}
	})
}

// Every refusal has its status, and one line that says what is wrong.
func TestRefusals(t *testing.T) {
	d := testset.Import(t, t.TempDir(), 1000)
	p := d.Manifest.Pieces[0]
	c, err := piececid.Parse(p.CIDv2)
	if err != nil {
		t.Fatal(err)
	}
	otherSize, err := piececid.V2(c.Root, p.PayloadSize-1)
	if err != nil {
		t.Fatal(err)
	}
	unknown := piececid.V1(piececid.Root{1})
	both(t, d, func(t *testing.T, address string) {
		for _, c := range []struct {
			method, path, header string
			status               int
			text                 string // in the line
		}{
			{"GET", "/piece/", "", 400, "not a piece CID"},
			{"GET", "/piece/baga", "", 400, "not a piece CID"},
			{"GET", "/piece/" + p.CID + "/x", "", 400, "not a piece CID"},
			{"GET", "/piece/bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy", "", 400, "not a piece CID"}, // a CID, not of a piece
			{"GET", "/piece/" + strings.Repeat("b", 5000), "", 400, "not a piece CID"},
			{"GET", "/piece/" + unknown.String(), "", 404, "not stored here"},
			{"GET", "/piece/" + otherSize.String(), "", 404, "not stored here"},
			{"GET", "/", "", 404, "/piece/"},
			{"GET", "/pieces", "", 404, "/piece/"},
			{"GET", "//piece/" + p.CID, "", 404, "/piece/"},
			{"POST", "/piece/" + p.CID, "Content-Length: 0", 405, "GET, HEAD"},
			{"DELETE", "/piece/" + p.CID, "", 405, "GET, HEAD"},
			{"GET", "/piece/" + p.CID, "Range: bytes=1016-", 416, "1016"},
			{"GET", "/piece/" + p.CIDv2, "Range: bytes=1000-", 416, "1000"},
			{"GET", "/piece/" + p.CID, `If-Match: "x"`, 412, p.CID},
		} {
			r := do(t, address, c.method, c.path, c.header+"\r\nX: y")
			line, rest, _ := strings.Cut(string(r.Body), "\n")
			if r.Status != c.status || !strings.Contains(line, c.text) || rest != "" || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") {
				t.Errorf("%s %.90s %q: %d %q; want %d and %q", c.method, c.path, c.header, r.Status, r.Body, c.status, c.text)
			}
			if cache := r.Header.Get("Cache-Control"); cache != "no-store" {
				t.Errorf("%s %.90s: Cache-Control %q", c.method, c.path, cache)
			}
			head := do(t, address, "HEAD", c.path, c.header+"\r\nX: y")
			if c.method == "GET" && (head.Status != c.status || len(head.Body) != 0) {
				t.Errorf("HEAD %.90s: %d, %d bytes", c.path, head.Status, len(head.Body))
			}
		}
	})
}

// A connection serves many requests, refused and unread ones among them, and
// keeps their answers apart.
func TestConnectionIsReused(t *testing.T) {
	d := testset.Import(t, t.TempDir(), 300_000)
	p := d.Manifest.Pieces[0]
	want := d.Bytes(p)
	both(t, d, func(t *testing.T, address string) {
		c := newClient(t, address)
		for i := range 50 {
			off := int64(i * 5000)
			for _, request := range []struct {
				path, header string
				status       int
				body         []byte
			}{
				{"/piece/" + p.CID, fmt.Sprintf("Range: bytes=%d-%d", off, off+2999), 206, want[off : off+3000]},
				{"/piece/bad", "X: y", 400, nil},
				{"/piece/" + p.CID, "Range: bytes=99999999-", 416, nil},
				{"/piece/" + p.CIDv2, "X: y", 200, want[:p.PayloadSize]},
			} {
				c.Ask(request.path, request.header)
				resp := c.Head()
				body, err := io.ReadAll(resp.Body)
				if resp.StatusCode != request.status || err != nil || request.body != nil && !bytes.Equal(body, request.body) {
					t.Fatalf("%d: %s %s: %s, %d bytes, %v", i, request.path, request.header, resp.Status, len(body), err)
				}
			}
		}
		if n := metric(t, address, connections); n != 2 {
			t.Errorf("%v connections, want the client's and the scrape's", n)
		}
	})
}

// Requests sent without waiting for answers are answered in order.
func TestPipelining(t *testing.T) {
	d := testset.Import(t, t.TempDir(), 1000)
	p := d.Manifest.Pieces[0]
	want := d.Bytes(p)
	both(t, d, func(t *testing.T, address string) {
		c := newClient(t, address)
		const n = 20
		for i := range n {
			c.Ask("/piece/"+p.CID, fmt.Sprintf("Range: bytes=%d-", i*10))
		}
		for i := range n {
			if body, err := io.ReadAll(c.Head().Body); err != nil || !bytes.Equal(body, want[i*10:]) {
				t.Fatalf("answer %d: %d bytes, %v; or wrong bytes", i, len(body), err)
			}
		}
	})
}

func TestMetricsCountWhatHappened(t *testing.T) {
	d := testset.Import(t, t.TempDir(), 1_000_000)
	p := d.Manifest.Pieces[0]
	both(t, d, func(t *testing.T, address string) {
		get(t, address, "/piece/"+p.CID, "Range: bytes=0-0")
		get(t, address, "/piece/"+p.CID, "Range: bytes=5-9,700000-700099")
		get(t, address, "/piece/"+p.CIDv2)
		do(t, address, "HEAD", "/piece/"+p.CID)
		do(t, address, "BREW", "/piece/"+p.CID)
		get(t, address, "/piece/x")
		for name, want := range map[string]float64{
			`piece_gateway_requests_total{code="206",method="GET"}`:   2,
			`piece_gateway_requests_total{code="200",method="GET"}`:   1,
			`piece_gateway_requests_total{code="200",method="HEAD"}`:  1,
			`piece_gateway_requests_total{code="400",method="GET"}`:   1,
			`piece_gateway_requests_total{code="405",method="other"}`: 1,
			"piece_gateway_response_bytes_total":                      1 + 105 + 1_000_000,
			"piece_gateway_time_to_first_byte_seconds_count":          3,
			"piece_gateway_request_duration_seconds_count":            6,
			"piece_gateway_pieces":                                    1,
			inFlight:                                                  0,
			abortedByClient:                                           0,
			abortedByStore:                                            0,
		} {
			// A client has its last byte a moment before the server has counted.
			eventually(t, fmt.Sprintf("%s is %v", name, want), func() bool { return metric(t, address, name) == want })
		}
		for _, name := range []string{"piece_gateway_store_read_seconds_count", "process_resident_memory_bytes", "process_open_fds"} {
			if metric(t, address, name) == 0 {
				t.Errorf("%s is 0", name)
			}
		}
	})
}

func TestAccessLog(t *testing.T) {
	d := testset.Import(t, t.TempDir(), 1000)
	path := "/piece/" + d.Manifest.Pieces[0].CID
	for _, on := range []bool{true, false} {
		g, log := serveGateway(t, d, func(c *gateway.Config) { c.AccessLog = on })
		address := g.Addr().String()
		mark := rand.Text()
		get(t, address, path, "Range: bytes=1-2,"+mark) // malformed
		get(t, address, path, "Range: bytes=1-3")
		// A client has its last byte a moment before the line is written.
		eventually(t, "both counted", func() bool {
			return metric(t, address, "piece_gateway_request_duration_seconds_count") == 2
		})
		var requests []map[string]any
		for line := range strings.Lines(log.String()) {
			var entry map[string]any
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				t.Errorf("not JSON: %q", line)
			}
			if entry["msg"] == "request" {
				requests = append(requests, entry)
			}
		}
		if !on {
			if len(requests) != 0 {
				t.Errorf("switched off, and logged %v", requests)
			}
			continue
		}
		if len(requests) != 2 {
			t.Fatalf("%d lines for 2 requests", len(requests))
		}
		for i, want := range []map[string]any{
			{"method": "GET", "path": path, "range": "bytes=1-2," + mark, "status": 416.0, "bytes": 0.0},
			{"method": "GET", "path": path, "range": "bytes=1-3", "status": 206.0, "bytes": 3.0},
		} {
			for name, value := range want {
				if requests[i][name] != value {
					t.Errorf("request %d: %s is %v, want %v", i, name, requests[i][name], value)
				}
			}
		}
	}
}
