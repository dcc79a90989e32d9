package main_test

import (
	"bytes"
	"encoding/pem"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"piecebench/piece/commp"
	"piecebench/piece/piececid"
)

// token is a secret that must be in no output and no result.
const token = "a-secret-of-the-provider"

// provider is a server with TLS, a certificate of its own authority and one piece,
// which it gives as Curio does: to those who have the token.
type provider struct {
	*httptest.Server
	cid  piececid.CID
	ca   string // file with the authority's certificate
	file string // of headers, with the token

	sent  atomic.Int64 // bytes of bodies
	hold  atomic.Int64 // bytes after which the next answer waits for go on; 0: none
	goOn  chan struct{}
	bytes []byte
}

func newProvider(t *testing.T, size int) *provider {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return newProviderOn(t, listener, size)
}

func newProviderOn(t *testing.T, listener net.Listener, size int) *provider {
	t.Helper()
	p := &provider{bytes: make([]byte, size), goOn: make(chan struct{})}
	rand.NewChaCha8([32]byte{9}).Read(p.bytes)
	c, err := commp.Sum(bytes.NewReader(p.bytes))
	if err != nil {
		t.Fatal(err)
	}
	p.cid = c
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	p.Listener.Close()
	p.Listener = listener
	p.StartTLS()
	t.Cleanup(p.Close)
	dir := t.TempDir()
	p.ca, p.file = filepath.Join(dir, "ca.pem"), filepath.Join(dir, "headers.txt")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})
	if err := os.WriteFile(p.ca, ca, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.file, []byte("# of the provider\nauthorization: Bearer "+token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", p.ca)
	return p
}

func (p *provider) url() string { return p.URL + "/piece/{piece}" }

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+token {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	c, err := piececid.Parse(strings.TrimPrefix(r.URL.Path, "/piece/"))
	if err != nil || c.Root != p.cid.Root {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Etag", c.String())
	http.ServeContent(heldWriter{w, p}, r, "", time.UnixMilli(1), bytes.NewReader(p.bytes))
}

type heldWriter struct {
	http.ResponseWriter
	p *provider
}

func (w heldWriter) Write(b []byte) (int, error) {
	if most := w.p.hold.Load(); most > 0 && w.p.sent.Load() > most {
		w.ResponseWriter.(http.Flusher).Flush()
		<-w.p.goOn
	}
	n, err := w.ResponseWriter.Write(b)
	w.p.sent.Add(int64(n))
	return n, err
}

func TestDatasetAddGoesOnAfterAKill(t *testing.T) {
	const size = 40_000_000
	s := newProvider(t, size)
	p := newProgram(t)
	list := filepath.Join(p.dir, "list.txt")
	if err := os.WriteFile(list, []byte("# mine\n"+s.cid.V1().String()+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"dataset", "add", "--dir", "mine", "--url", s.url(), "--header", "@" + s.file, "--verify", "--from", list}
	s.hold.Store(30_000_000)
	killed := p.command(args...)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(p.dir, "mine", "checksums", "."+s.cid.V1().String()+".journal")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if info, err := os.Stat(journal); err == nil && info.Size() > 12_000 { // 11 units of 2 MB
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing is kept of 30 MB")
		}
	}
	killed.Process.Kill()
	killed.Wait()
	s.hold.Store(0)
	close(s.goOn)
	before := s.sent.Load()
	out, diagnostics, code := p.run(args...)
	if code != 0 || !strings.Contains(out, "mine/pieces.json: 1 pieces, 40000000 bytes of payload\n") {
		t.Fatalf("exit code %d\n%s%s", code, out, diagnostics)
	}
	if again := s.sent.Load() - before; again > size-20_000_000 {
		t.Errorf("%d of %d bytes were sent again", again, size)
	}
	if _, err := os.Stat(journal); err == nil {
		t.Error("the journal is left")
	}
	if out, _, code := p.run("dataset", "verify", "--dir", "mine"); code != 0 || !strings.Contains(out, "1 pieces on a server") {
		t.Errorf("verify: exit code %d, %s", code, out)
	}
}

func TestDatasetAddRefusesBadInput(t *testing.T) {
	s := newProvider(t, 1000)
	p := newProgram(t)
	other := piececid.V1(piececid.Root{1}).String()
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "headers")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "@" + path
	}
	for name, v := range map[string]struct {
		args []string
		says string
	}{
		"no server":           {[]string{s.cid.String()}, "--url"},
		"no placeholder":      {[]string{"--url", s.URL, s.cid.String()}, "{piece}"},
		"both placeholders":   {[]string{"--url", s.URL + "/{piece}/{piece_v2}", s.cid.String()}, "want one of them"},
		"no URL":              {[]string{"--url", "ftp://h/{piece}", s.cid.String()}, "http(s)://"},
		"no pieces":           {[]string{"--url", s.url()}, "--from FILE"},
		"no CID":              {[]string{"--url", s.url(), "baga-no"}, "baga-no"},
		"no list":             {[]string{"--url", s.url(), "--from", "/no/such/list"}, "/no/such/list"},
		"not there":           {[]string{"--url", s.url(), "--header", "@" + s.file, other}, "does not have this piece"},
		"no token":            {[]string{"--url", s.url(), s.cid.String()}, "--header"},
		"a token as argument": {[]string{"--url", s.url(), "--header", "Authorization: Bearer " + token, s.cid.String()}, "process list"},
		"no header":           {[]string{"--url", s.url(), "--header", write("Bearer " + token), s.cid.String()}, "line 1 is not Name: value"},
		"a header of ours":    {[]string{"--url", s.url(), "--header", write("\nrange: bytes=0-1"), s.cid.String()}, "line 2 sets Range"},
		"two credentials":     {[]string{"--url", strings.Replace(s.url(), "//", "//user:"+token+"@", 1), "--header", "@" + s.file, s.cid.String()}, "one of them"},
		"v2 from v1":          {[]string{"--url", s.URL + "/piece/{piece_v2}", "--header", "@" + s.file, s.cid.V1().String()}, "give the CID v2"},
		"nobody there":        {[]string{"--url", "http://127.0.0.1:1/{piece}", s.cid.String()}, "connection refused"},
	} {
		out, diagnostics, code := p.run(append([]string{"dataset", "add"}, v.args...)...)
		if code != 2 || out != "" || strings.Count(diagnostics, "\n") != 1 || !strings.Contains(diagnostics, v.says) || strings.Contains(diagnostics, token) {
			t.Errorf("%s: exit code %d, %q, %q; want 2 and one line with %q", name, code, out, diagnostics, v.says)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(p.dir, "data", "*")); len(files) > 0 {
		t.Errorf("left: %v", files)
	}
	t.Setenv("SSL_CERT_FILE", "")
	if _, diagnostics, code := p.run("dataset", "add", "--url", s.url(), "--header", "@"+s.file, s.cid.String()); code != 2 || !strings.Contains(diagnostics, "certificate") {
		t.Errorf("an unknown authority: exit code %d, %s", code, diagnostics)
	}
}

func TestDatasetAddExitsWithOneForBytesOfAnotherPiece(t *testing.T) {
	s := newProvider(t, 3_000_000)
	p := newProgram(t)
	s.bytes[2_999_999]++
	out, diagnostics, code := p.run("dataset", "add", "--url", s.url(), "--header", "@"+s.file, "--verify", s.cid.String())
	if code != 1 || out != "" || strings.Count(diagnostics, "\n") != 1 || !strings.Contains(diagnostics, s.cid.V1().String()+": the 3000000 bytes that the server sent are those of baga") {
		t.Errorf("exit code %d, %s%s", code, out, diagnostics)
	}
}
