package probe

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"piecebench/piece/commp"
	"piecebench/piece/piececid"
)

// stored is a small piece, and a server's right answers for it.
type stored struct {
	data []byte
	cid  piececid.CID // v2
}

func newStored(t *testing.T) stored {
	t.Helper()
	data := make([]byte, 127*128)
	for i := range data {
		data[i] = byte(i * i >> 3)
	}
	cid, err := commp.Sum(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return stored{data, cid}
}

func (p stored) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cid, err := piececid.Parse(strings.TrimPrefix(r.URL.Path, "/piece/"))
	switch {
	case err != nil:
		http.Error(w, "no piece CID", http.StatusBadRequest)
	case cid.Root != p.cid.Root:
		http.Error(w, "no such piece", http.StatusNotFound)
	default:
		w.Header().Set("ETag", fmt.Sprintf("%q", p.cid.V1()))
		w.Header().Set("Content-Type", "application/piece")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(p.data))
	}
}

// isPiece tells whether a request is for the piece, by a CID v1.
func (p stored) isPiece(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, p.cid.V1().String())
}

// altered lets a handler answer, and changes the head before it is sent.
type altered struct {
	http.ResponseWriter
	change func(http.Header, int) int
	done   bool
}

func (a *altered) WriteHeader(status int) {
	if !a.done {
		a.done = true
		status = a.change(a.Header(), status)
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *altered) Write(b []byte) (int, error) {
	if !a.done {
		a.WriteHeader(http.StatusOK)
	}
	return a.ResponseWriter.Write(b)
}

func probed(t *testing.T, o Options) Report {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second // beyond what a busy machine takes
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 4 << 20
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// expect fails unless the checks have these verdicts, and no other check fails.
func expect(t *testing.T, r Report, want map[string]Verdict, seen string) {
	t.Helper()
	said := ""
	for _, f := range r.Findings {
		switch v, named := want[f.Check]; {
		case named && f.Verdict != v, !named && f.Verdict == Fail:
			t.Errorf("%s: %s, %s", f.Check, f.Verdict, f.Seen)
		case named:
			said += f.Seen + "\n"
		}
	}
	if !strings.Contains(said, seen) {
		t.Errorf("%q does not say %q", said, seen)
	}
}

func TestARightServerHasNoFault(t *testing.T) {
	p := newStored(t)
	server := httptest.NewServer(p)
	defer server.Close()
	for _, o := range []Options{
		{URL: server.URL + "/piece/{piece}", CID: p.cid.String()},
		{URL: server.URL + "/piece/{piece}", CID: p.cid.V1().String()},
		{URL: server.URL + "/piece/" + p.cid.V1().String()},
		{URL: server.URL + "/piece/" + p.cid.String()},
	} {
		r := probed(t, o)
		if r.Size != int64(len(p.data)) || r.Requests < 30 || r.Requests > MaxRequests || len(r.Findings) != len(checks) {
			t.Errorf("%+v: %d bytes, %d requests, %d findings", o, r.Size, r.Requests, len(r.Findings))
		}
		for _, f := range r.Findings {
			want := map[string]Verdict{"HTTP/2": Warn, "url finder": Warn, certificateName: Skip}[f.Check]
			if want == "" {
				want = Pass
			}
			if f.Verdict != want || f.Seen == "" || f.Means == "" || (f.Fix != "") != (want == Warn) {
				t.Errorf("%+v: %+v", o, f)
			}
		}
	}
}

func TestEachFaultIsFoundAndNoOther(t *testing.T) {
	p := newStored(t)
	// head is a fault of the answer's head, for requests of the piece that have this header.
	head := func(header string, change func(h http.Header, status int) int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if p.isPiece(r) && (header == "" || r.Header.Get(header) != "") {
				w = &altered{ResponseWriter: w, change: change}
			}
			p.ServeHTTP(w, r)
		}
	}
	// without serves as if the request had no such header.
	without := func(name string, when func(value string) bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if when(r.Header.Get(name)) {
				r.Header.Del(name)
			}
			p.ServeHTTP(w, r)
		}
	}
	always := func(string) bool { return true }
	// instead answers some requests otherwise.
	instead := func(when func(r *http.Request) bool, answer http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if when(r) {
				answer(w, r)
				return
			}
			p.ServeHTTP(w, r)
		}
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	method := func(m string) func(*http.Request) bool { return func(r *http.Request) bool { return r.Method == m } }
	ranged := func(spec string) func(*http.Request) bool {
		return func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Range"), spec) }
	}
	unknown := func(r *http.Request) bool {
		cid, err := piececid.Parse(strings.TrimPrefix(r.URL.Path, "/piece/"))
		return err == nil && cid.Root != p.cid.Root
	}
	malformed := func(r *http.Request) bool {
		_, err := piececid.Parse(strings.TrimPrefix(r.URL.Path, "/piece/"))
		return err != nil
	}
	wrong := stored{bytes.Clone(p.data), p.cid}
	wrong.data[9000]++
	other := stored{bytes.Repeat([]byte{1}, len(p.data)), p.cid}
	tags, asked := 0, 0
	var mu sync.Mutex

	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  map[string]Verdict
		seen  string
		short bool // a hanging server: do not wait long
	}{
		"HEAD is not routed": {serve: instead(method("HEAD"), status(405)), want: map[string]Verdict{"HEAD": Fail, "size": Pass}, seen: "405"},
		"HEAD hangs":         {serve: instead(method("HEAD"), hang), want: map[string]Verdict{"HEAD": Fail, "size": Pass}, seen: "no whole answer within", short: true},
		"HEAD has another size": {serve: instead(method("HEAD"), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "16000")
			w.Header().Set("Accept-Ranges", "bytes")
		}), want: map[string]Verdict{"size": Fail}, seen: "HEAD says 16000 bytes, Content-Range 16256"},
		"Content-Range has another size": {serve: head("Range", func(h http.Header, s int) int {
			h.Set("Content-Range", strings.Replace(h.Get("Content-Range"), "/16256", "/16257", 1))
			return s
		}), want: map[string]Verdict{"size": Fail, "range beyond": Warn}, seen: "HEAD says 16256 bytes, Content-Range 16257, GET 16256"},
		"Accept-Ranges is missing": {serve: head("", func(h http.Header, s int) int { h.Del("Accept-Ranges"); return s }), want: map[string]Verdict{"HEAD": Warn}, seen: "Accept-Ranges: none"},
		"ranges are ignored":       {serve: without("Range", always), want: map[string]Verdict{"range": Fail, "size": Skip, "range suffix": Skip, "gzip": Skip, "parallel": Skip}, seen: "status 200, not 206"},
		"Content-Range is wrong": {serve: head("Range", func(h http.Header, s int) int {
			h.Set("Content-Range", strings.Replace(h.Get("Content-Range"), "bytes 0-", "bytes 1-", 1))
			return s
		}), want: map[string]Verdict{"range": Fail, "size": Skip}, seen: "Content-Range bytes 1-4095/16256"},
		"suffix ranges are ignored":  {serve: without("Range", func(v string) bool { return strings.HasPrefix(v, "bytes=-") }), want: map[string]Verdict{"range suffix": Fail}, seen: "200, not 206"},
		"open ranges are refused":    {serve: instead(ranged("bytes=8128-"), status(400)), want: map[string]Verdict{"range open": Fail}, seen: "400"},
		"several ranges break it":    {serve: instead(func(r *http.Request) bool { return strings.Contains(r.Header.Get("Range"), ",") }, status(500)), want: map[string]Verdict{"range several": Fail}, seen: "500"},
		"several ranges are ignored": {serve: without("Range", func(v string) bool { return strings.Contains(v, ",") }), want: map[string]Verdict{"range several": Warn}, seen: "200"},
		"no 416":                     {serve: without("Range", func(v string) bool { return v == "bytes=16266-" }), want: map[string]Verdict{"range beyond": Fail}, seen: "200, not 416"},
		"416 without a size": {serve: head("Range", func(h http.Header, s int) int {
			if s == 416 {
				h.Del("Content-Range")
			}
			return s
		}), want: map[string]Verdict{"range beyond": Warn}, seen: "Content-Range none"},
		"there is no ETag":       {serve: head("", func(h http.Header, s int) int { h.Del("ETag"); return s }), want: map[string]Verdict{"ETag": Warn, "If-None-Match": Skip, "If-Range": Skip}, seen: "none"},
		"the ETag has no quotes": {serve: head("", func(h http.Header, s int) int { h.Set("ETag", strings.Trim(h.Get("ETag"), `"`)); return s }), want: map[string]Verdict{"ETag": Warn, "If-None-Match": Skip}, seen: "without its quotes: baga"},
		"the ETag changes": {serve: head("", func(h http.Header, s int) int {
			mu.Lock()
			defer mu.Unlock()
			tags++
			h.Set("ETag", fmt.Sprintf(`"%d"`, tags))
			return s
		}), want: map[string]Verdict{"ETag": Fail, "If-None-Match": Skip, "If-Range": Skip}, seen: "not the same each time"},
		"If-None-Match is ignored":   {serve: without("If-None-Match", always), want: map[string]Verdict{"If-None-Match": Warn}, seen: "200 for the current ETag"},
		"If-Range is ignored":        {serve: without("If-Range", always), want: map[string]Verdict{"If-Range other": Fail}, seen: "206 for another ETag"},
		"If-Range always mismatches": {serve: instead(func(r *http.Request) bool { return r.Header.Get("If-Range") != "" }, func(w http.ResponseWriter, r *http.Request) { r.Header.Del("Range"); p.ServeHTTP(w, r) }), want: map[string]Verdict{"If-Range": Warn}, seen: "200, not 206"},
		"gzip encodes": {serve: instead(func(r *http.Request) bool { return r.Header.Get("Accept-Encoding") == "gzip" }, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			p.ServeHTTP(w, r)
		}), want: map[string]Verdict{"gzip": Fail}, seen: "Content-Encoding: gzip"},
		"gzip drops the range":    {serve: instead(func(r *http.Request) bool { return r.Header.Get("Accept-Encoding") == "gzip" }, func(w http.ResponseWriter, r *http.Request) { r.Header.Del("Range"); p.ServeHTTP(w, r) }), want: map[string]Verdict{"gzip": Fail}, seen: "200, not 206"},
		"CID v2 is not known":     {serve: instead(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, p.cid.String()) }, status(404)), want: map[string]Verdict{"CID v2": Warn}, seen: "404"},
		"200 for an unknown CID":  {serve: instead(unknown, status(200)), want: map[string]Verdict{"unknown CID": Fail}, seen: "200, not 404"},
		"500 for an unknown CID":  {serve: instead(unknown, status(500)), want: map[string]Verdict{"unknown CID": Fail}, seen: "500, not 404"},
		"an unknown CID hangs":    {serve: instead(unknown, hang), want: map[string]Verdict{"unknown CID": Fail}, seen: "no whole answer within", short: true},
		"500 for a malformed CID": {serve: instead(malformed, status(500)), want: map[string]Verdict{"malformed CID": Fail}, seen: "500"},
		"connections are closed":  {serve: head("", func(h http.Header, s int) int { h.Set("Connection", "close"); return s }), want: map[string]Verdict{"keep-alive": Warn, "TTFB warm": Skip}, seen: "closes the connection after each answer"},
		"a range is cut": {serve: instead(ranged("bytes=0-4095"), func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Range", "bytes 0-4095/16256")
			w.Header().Set("Content-Length", "4096")
			w.WriteHeader(206)
			w.Write(p.data[:100])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}), want: map[string]Verdict{"range": Fail, "TTFB cold": Warn}, seen: "unexpected EOF"},
		"a wrong byte in the piece": {serve: wrong.ServeHTTP, want: map[string]Verdict{"bytes": Fail}, seen: "another piece's: baga6ea4seaq"},
		"GET and range differ":      {serve: instead(func(r *http.Request) bool { return r.Method == "GET" && r.Header.Get("Range") == "" && p.isPiece(r) }, other.ServeHTTP), want: map[string]Verdict{"GET": Fail, "bytes": Skip}, seen: "not those of the range"},
		"it redirects": {serve: instead(func(r *http.Request) bool { return r.URL.RawQuery == "" && p.isPiece(r) }, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path+"?token=hidden", http.StatusFound)
		}), want: map[string]Verdict{"redirects": Warn}, seen: "?token=***"},
		"429 now and then": {serve: instead(func(r *http.Request) bool {
			mu.Lock()
			defer mu.Unlock()
			if !r.Close { // the load is another check
				asked++
			}
			return asked%10 == 0 && !r.Close
		}, status(429)), want: map[string]Verdict{"parallel": Warn}, seen: "of the requests that were sent one at a time got 429"},
		"429 above 4 parallel requests": {serve: crowded(p, 4), want: map[string]Verdict{"parallel": Fail}, seen: "of 8 parallel requests failed, the first with status 429"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.serve)
			defer server.Close()
			o := Options{URL: server.URL + "/piece/{piece}", CID: p.cid.String()}
			if c.short {
				o.Timeout = 3 * time.Second
			}
			expect(t, probed(t, o), c.want, c.seen)
		})
	}
}

// crowded refuses requests of the load beyond so many at a time. Those that it accepts stay
// until one is refused, or until no more can come.
func crowded(p stored, most int) http.HandlerFunc {
	var mu sync.Mutex
	inFlight, served := 0, 0
	refused := make(chan struct{})
	return func(w http.ResponseWriter, r *http.Request) {
		if !r.Close { // not of the load, nor of the cold requests
			p.ServeHTTP(w, r)
			return
		}
		mu.Lock()
		served++
		inFlight++
		n, late := inFlight, served > timings+2+4
		mu.Unlock()
		defer func() {
			mu.Lock()
			inFlight--
			mu.Unlock()
		}()
		if n > most {
			select {
			case <-refused:
			default:
				close(refused)
			}
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		if late {
			<-refused
		}
		p.ServeHTTP(w, r)
	}
}

// secure starts a TLS server with a certificate of its own for this time.
func secure(t *testing.T, handler http.Handler, until time.Time) (address string, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "probe test"},
		NotBefore: time.Now().Add(-90 * 24 * time.Hour), NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	roots = x509.NewCertPool()
	roots.AddCert(cert)
	return server.URL, roots
}

func TestCertificates(t *testing.T) {
	p := newStored(t)
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		until             time.Duration
		insecure, unknown bool
		want              Verdict
		seen              string
	}{
		"good":                   {90*day + time.Hour, false, false, Pass, "valid for 90 days"},
		"soon over":              {3*day + time.Hour, false, false, Warn, "expires in 3 days"},
		"expired":                {-day, false, false, Fail, "expired"},
		"unknown":                {90 * day, false, true, Fail, "unknown authority"},
		"expired and --insecure": {-day, true, false, Warn, "accepted by --insecure"},
	} {
		address, roots := secure(t, p, time.Now().Add(c.until))
		if c.unknown {
			roots = x509.NewCertPool()
		}
		r := probed(t, Options{URL: address + "/piece/{piece}", CID: p.cid.String(), Insecure: c.insecure, roots: roots})
		t.Log(name)
		expect(t, r, map[string]Verdict{certificateName: c.want, "HTTP/2": Pass, "bytes": Pass}, c.seen)
	}
}

func TestNoCredentialsForABadCertificateOrAnotherServer(t *testing.T) {
	p := newStored(t)
	var mu sync.Mutex
	got := map[string]bool{} // by path and whether credentials came
	watched := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		mu.Lock()
		got[fmt.Sprint(password, r.Referer())] = true
		mu.Unlock()
		p.ServeHTTP(w, r)
	})
	address, _ := secure(t, watched, time.Now().Add(-time.Hour))
	with := strings.Replace(address, "://", "://user:secret@", 1) + "/piece/{piece}"
	r := probed(t, Options{URL: with, CID: p.cid.String()})
	expect(t, r, map[string]Verdict{certificateName: Fail, "HEAD": Skip, "parallel": Skip}, "credentials are not sent")
	if len(got) > 0 {
		t.Errorf("asked: %v", got)
	}

	away := httptest.NewServer(watched)
	defer away.Close()
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "secret" {
			t.Error("credentials did not come")
		}
		http.Redirect(w, r, away.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer home.Close()
	r = probed(t, Options{URL: strings.Replace(home.URL, "://", "://user:secret@", 1) + "/piece/{piece}?token=secret", CID: p.cid.String()})
	expect(t, r, map[string]Verdict{"redirects": Warn}, away.URL)
	if len(got) != 1 || !got[""] {
		t.Errorf("the other server got %v", got)
	}
	var b bytes.Buffer
	if err := Write(&b, r); err != nil || strings.Contains(fmt.Sprint(b.String(), r), "secret") {
		t.Errorf("%v, %s", err, b.String())
	}
}
