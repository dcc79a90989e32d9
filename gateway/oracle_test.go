package gateway_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piecebench/gateway"
	"piecebench/gateway/store"
	"piecebench/internal/testset"
)

// oracle is nginx and both of the gateway's stores, over the same pieces.
type oracle struct {
	nginx    string
	gateways map[string]string // store -> address
	objects  []object
}

// object is the same bytes at nginx and at the gateway.
type object struct {
	name           string
	nginx, gateway string // paths
	size           int64
}

func newOracle(tb testing.TB, payloadSizes ...int64) oracle {
	d := testset.Import(tb, tb.TempDir(), payloadSizes...)
	o := oracle{gateways: map[string]string{}}
	for i, p := range d.Manifest.Pieces {
		v1 := "/piece/" + p.CID
		o.objects = append(o.objects, object{fmt.Sprintf("v1 of %d bytes", p.PayloadSize), v1, v1, p.UnpaddedSize()})

		// The payload alone, under a name that nginx takes for a piece's.
		name := fmt.Sprintf("baga6ea4seaq%052d", i)
		name = strings.NewReplacer("0", "a", "1", "b").Replace(name)
		if err := os.WriteFile(filepath.Join(d.Dir, "flat", name), d.Bytes(p)[:p.PayloadSize], 0o644); err != nil {
			tb.Fatal(err)
		}
		o.objects = append(o.objects, object{fmt.Sprintf("v2 of %d bytes", p.PayloadSize), "/piece/" + name, "/piece/" + p.CIDv2, p.PayloadSize})
	}
	o.nginx = startNginx(tb, d)
	for _, name := range []string{store.FlatName, store.UnsealedName} {
		o.gateways[name] = startGateway(tb, d, func(c *gateway.Config) { c.Store = name })
	}
	return o
}

// oracleSizes are a piece with zeros after its payload, one without, and one
// of several of the unsealed store's blocks.
var oracleSizes = []int64{10_000, 127 * 8, 300_000}

// ask sends the same request to all three, and fails the test unless both
// gateways answer as nginx does. {etag} in a header stands for the server's own.
func (o oracle) ask(t *testing.T, obj object, method string, headers ...string) {
	t.Helper()
	want := answer(t, o.nginx, method, obj.nginx, headers)
	for name, address := range o.gateways {
		got := answer(t, address, method, obj.gateway, headers)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, %s, %s %q: nginx -, gateway +\n%s", name, obj.name, method, headers, diff)
		}
	}
}

// reply is what must be the same.
type reply struct {
	Status  int
	Headers map[string]string
	Body    string // of errors nothing: nginx's are HTML, the gateway's a line of text
	Err     error
}

func answer(t *testing.T, address, method, path string, headers []string) reply {
	t.Helper()
	etag := do(t, address, "HEAD", path).Header.Get("ETag")
	headers = slices.Clone(headers)
	for i := range headers {
		headers[i] = strings.ReplaceAll(headers[i], "{etag}", etag)
	}
	r := do(t, address, method, path, headers...)
	a := reply{Status: r.Status, Err: r.Err, Headers: map[string]string{"Content-Range": r.Header.Get("Content-Range")}}
	if r.Status >= 400 {
		return a
	}
	for _, name := range []string{"Content-Type", "Content-Length", "Accept-Ranges", "Cache-Control", "Content-Encoding", "Connection"} {
		a.Headers[name] = r.Header.Get(name)
	}
	if r.Status == 206 {
		delete(a.Headers, "Accept-Ranges") // nginx has it in a 200 only; the gateway always
	}
	a.Body = string(r.Body)
	if kind, boundary, ok := strings.Cut(a.Headers["Content-Type"], "boundary="); ok {
		a.Headers["Content-Type"] = kind
		a.Body = strings.ReplaceAll(a.Body, boundary, "BOUNDARY")
	}
	return a
}

func TestRangesAsNginx(t *testing.T) {
	o := newOracle(t, oracleSizes...)
	for _, obj := range o.objects {
		n := obj.size
		for _, spec := range []string{
			"", "bytes=0-0", "bytes=0-", fmt.Sprintf("bytes=0-%d", n-1), fmt.Sprintf("bytes=0-%d", n), "bytes=126-127",
			"bytes=127-127", "bytes=128-380", fmt.Sprintf("bytes=%d-", n-1), fmt.Sprintf("bytes=%d-", n), fmt.Sprintf("bytes=%d-", n+1),
			"bytes=-1", "bytes=-0", fmt.Sprintf("bytes=-%d", n), fmt.Sprintf("bytes=-%d", n+1), "bytes=-9223372036854775807", "bytes=-9223372036854775808",
			"bytes=5-2", "bytes=5-5", "bytes=5-4,7-8", "bytes=5-4,5-2", "bytes=", "bytes=-", "bytes=,", "bytes=0-0,", "bytes=,0-0", "bytes=0",
			"bytes=a-b", "bytes=0-x", "bytes=0x10-", "bytes=1.5-2", "bytes=+1-2", "bytes=--1", "bytes=1--2", "bytes=1-2-3",
			"bytes= 0 - 5 ", "bytes=0 -5 , 7-8", "bytes =0-5", " bytes=0-5", "BYTES=0-5", "Bytes=1-2", "bytes:0-5", "bits=0-5", "items=0-5", "bytes 0-5", "0-5",
			"bytes=0-9223372036854775807", "bytes=0-9223372036854775808", "bytes=9223372036854775807-", "bytes=9223372036854775808-", "bytes=00000000000000000000001-2",
			"bytes=0-0,1-1", "bytes=0-0,-1", "bytes=5-6,1-2", "bytes=0-10,5-15", "bytes=0-0,0-0", "bytes=100-200,300-,-5", "bytes=0-9,99999999-",
			fmt.Sprintf("bytes=0-%d,0-0", n-1), fmt.Sprintf("bytes=0-%d,%d-", n/2, n/2+1), fmt.Sprintf("bytes=0-%d,%d-", n/2, n/2),
			"bytes=" + strings.Repeat("1-3,", 200) + "1-1", // the sum is within 10,000
		} {
			var headers []string
			if spec != "" {
				headers = []string{"Range: " + spec}
			}
			o.ask(t, obj, "GET", headers...)
			o.ask(t, obj, "HEAD", headers...)
		}
	}
}

func TestConditionsAsNginx(t *testing.T) {
	o := newOracle(t, oracleSizes...)
	for _, obj := range o.objects {
		for _, headers := range [][]string{
			{"If-None-Match: {etag}"},
			{"If-None-Match: W/{etag}"},
			{"If-None-Match: *"},
			{`If-None-Match: "other"`},
			{`If-None-Match: "other", {etag}`},
			{`If-None-Match: "other" ,W/{etag} , "third"`},
			{`If-None-Match: {etag}x`},
			{`If-None-Match: other`},
			{"If-Match: {etag}"},
			{"If-Match: W/{etag}"},
			{"If-Match: *"},
			{`If-Match: "other"`},
			{`If-Match: "other",{etag}`},
			{"If-Match: {etag}", "If-None-Match: {etag}"},
			{`If-Match: "other"`, "If-None-Match: {etag}"},
			{"If-Range: {etag}"},
			{`If-Range: "other"`},
			{"If-Range: W/{etag}"},
			{`If-Range: {etag}, "other"`},
			{`If-Range: nonsense`},
			{`If-Range: "`},
			{`If-Range: "other"`, "If-None-Match: {etag}"},
			{`If-Match: {etag}`, "If-Range: {etag}"},
		} {
			for _, r := range []string{"", "bytes=10-19", "bytes=0-0,5-9", "bytes=99999999-", "bytes=x"} {
				h := headers
				if r != "" {
					h = append(slices.Clone(h), "Range: "+r)
				}
				o.ask(t, obj, "GET", h...)
				o.ask(t, obj, "HEAD", h...)
			}
		}
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND", "FOO"} {
			o.ask(t, obj, method)
		}
		o.ask(t, obj, "GET", "Accept-Encoding: gzip, br")
		o.ask(t, obj, "GET", "Accept-Encoding: gzip", "Range: bytes=1-2")
	}
}

// Random Range headers, valid, broken and in between, with and without
// conditions.
func TestRandomRequestsAsNginx(t *testing.T) {
	o := newOracle(t, oracleSizes...)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1500 {
		obj := o.objects[rng.IntN(len(o.objects))]
		var headers []string
		if rng.IntN(10) > 0 {
			headers = append(headers, "Range: "+randomRange(rng, obj.size))
		}
		tag := []string{"{etag}", "W/{etag}", `"other"`, `"x", {etag}`}[rng.IntN(4)]
		if rng.IntN(4) == 0 {
			headers = append(headers, []string{"If-Range: ", "If-None-Match: ", "If-Match: "}[rng.IntN(3)]+tag)
		}
		o.ask(t, obj, []string{"GET", "GET", "GET", "HEAD"}[rng.IntN(4)], headers...)
		if t.Failed() {
			return // the first is enough
		}
	}
}

func randomRange(rng *rand.Rand, size int64) string {
	number := func() string {
		switch rng.IntN(8) {
		case 0:
			return fmt.Sprint(rng.Int64())
		case 1:
			return fmt.Sprint(size + rng.Int64N(5) - 2)
		case 2:
			return fmt.Sprint(127*rng.Int64N(size/127+1) + rng.Int64N(3) - 1)
		case 3:
			return ""
		default:
			return fmt.Sprint(rng.Int64N(size))
		}
	}
	var specs []string
	for range 1 + rng.IntN(1+rng.IntN(6)) {
		specs = append(specs, number()+"-"+number())
	}
	s := []byte([]string{"bytes=", "bytes=", "bytes=", "Bytes= "}[rng.IntN(4)] + strings.Join(specs, []string{",", ", ", " ,"}[rng.IntN(3)]))
	if rng.IntN(4) == 0 { // one wrong character
		s[rng.IntN(len(s))] = "0123456789-, =bx"[rng.IntN(16)]
	}
	return string(s)
}

// FuzzRangeAsNginx looks for a Range header that nginx understands otherwise.
func FuzzRangeAsNginx(f *testing.F) {
	for _, seed := range []string{"bytes=0-0", "bytes=-5", "bytes=1-,3-4", "bytes= 7 - 9 , -2", "bytes=9223372036854775807-", "x"} {
		f.Add(seed)
	}
	o := newOracle(f, 10_000)
	f.Fuzz(func(t *testing.T, header string) {
		// What no header may hold is refused, by each in its own way.
		if len(header) > 4000 || strings.ContainsFunc(header, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Skip()
		}
		o.ask(t, o.objects[0], "GET", "Range: "+header)
	})
}

// Where the gateway answers otherwise than nginx, and why.
func TestDeliberateDifferences(t *testing.T) {
	o := newOracle(t, oracleSizes...)
	obj := o.objects[0]
	date := "Last-Modified"
	for _, c := range []struct {
		reason         string
		method         string
		path           string // of both, where not the object's
		headers        []string
		nginx, gateway int
	}{
		{"FRC-0066 has 400 for what is not a piece CID; nginx knows only file names",
			"GET", "/piece/nonsense", nil, 404, 400},
		{"other text forms of a piece CID name the same piece",
			"GET", "/piece/" + strings.ToUpper(obj.gateway[len("/piece/"):]), nil, 404, 200},
		{"a browser asks before it sends a range request to another site",
			"OPTIONS", "", []string{"Origin: http://x", "Access-Control-Request-Headers: range"}, 405, 204},
		{"a piece has no date of change (RFC 9110, 13.1.3: then ignore the condition)",
			"GET", "", []string{"If-Modified-Since: {date}"}, 304, 200},
		{"the same (13.1.4)",
			"GET", "", []string{"If-Unmodified-Since: Thu, 01 Jan 2015 00:00:00 GMT"}, 412, 200},
		{"the same (13.1.5: a date that is not known to match is no match)",
			"GET", "", []string{"If-Range: {date}", "Range: bytes=0-0"}, 206, 200},
		{"If-None-Match goes before If-Modified-Since (13.2.2); nginx wants both",
			"GET", "", []string{"If-None-Match: {etag}", "If-Modified-Since: Thu, 01 Jan 2015 00:00:00 GMT"}, 200, 304},
		{"RFC 6585 has a status for heads that are too large",
			"GET", "", []string{"X: " + strings.Repeat("x", 40<<10)}, 400, 431},
	} {
		path := func(own string) string {
			if c.path != "" {
				return c.path
			}
			return own
		}
		status := func(address, path string) int {
			head := do(t, o.nginx, "HEAD", obj.nginx).Header
			etag := do(t, address, "HEAD", path).Header.Get("ETag")
			r := strings.NewReplacer("{date}", head.Get(date), "{etag}", etag)
			var headers []string
			for _, h := range c.headers {
				headers = append(headers, r.Replace(h))
			}
			return do(t, address, c.method, path, headers...).Status
		}
		if got := status(o.nginx, path(obj.nginx)); got != c.nginx {
			t.Errorf("%s: nginx answers %d, not %d", c.reason, got, c.nginx)
		}
		for name, address := range o.gateways {
			if got := status(address, path(obj.gateway)); got != c.gateway {
				t.Errorf("%s: %s answers %d, not %d", c.reason, name, got, c.gateway)
			}
		}
	}
}

// Ranges of 8,389,747 bytes at odd offsets have come out wrong from other fr32
// readers: they split at places that are no whole groups.
func TestLargeOddRangesAsNginx(t *testing.T) {
	const length = 8_389_747
	o := newOracle(t, 17<<20)
	for _, obj := range o.objects {
		for _, off := range []int64{0, 1, 63, 126, 127, 128, 4_097, 127*1024 - 1, 1_048_577, obj.size - length} {
			header := fmt.Sprintf("Range: bytes=%d-%d", off, off+length-1)
			want := get(t, o.nginx, obj.nginx, header)
			if want.Status != 206 || len(want.Body) != length {
				t.Fatalf("nginx: %d, %d bytes", want.Status, len(want.Body))
			}
			for name, address := range o.gateways {
				got := get(t, address, obj.gateway, header)
				if got.Status != 206 || got.Err != nil || !bytes.Equal(got.Body, want.Body) {
					t.Errorf("%s, %s, %s: %d, %d bytes, %v; or wrong bytes", name, obj.name, header, got.Status, len(got.Body), got.Err)
				}
			}
		}
	}
}
