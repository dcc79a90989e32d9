package dataset_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"piecebench/piece"
	"piecebench/piece/commp"
	"piecebench/piece/dataset"
	"piecebench/piece/piececid"
	"piecebench/piece/remote"
	verifier "piecebench/piece/verify"
)

// provider is a server that has pieces, under /piece/ and their CIDs v1 and v2.
type provider struct {
	*httptest.Server
	payloads map[string][]byte // by root
	payload  bool              // gives the payload under a CID v1 too, as Curio does
	noHead   bool              // as a server that does not route HEAD
	noRanges bool
	breakOff int // bytes after which the next answer ends; 0: all of it

	mu   sync.Mutex
	sent atomic.Int64 // bytes of bodies
}

func newProvider(t *testing.T, p *provider) *provider {
	p.payloads = map[string][]byte{}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

// have makes a piece of random bytes, and returns its CID v2.
func (p *provider) have(t *testing.T, size int) piececid.CID {
	t.Helper()
	payload := make([]byte, size)
	rand.NewChaCha8([32]byte{byte(size), byte(size >> 8), 7}).Read(payload)
	c, err := commp.Sum(bytes.NewReader(payload))
	if err != nil {
		t.Fatal(err)
	}
	p.payloads[string(c.Root[:])] = payload
	return c
}

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	c, err := piececid.Parse(strings.TrimPrefix(r.URL.Path, "/piece/"))
	payload, ok := p.payloads[string(c.Root[:])]
	switch {
	case err != nil || !ok:
		http.NotFound(w, r)
		return
	case r.Method == http.MethodHead && p.noHead:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case c.Version == 1 && !p.payload:
		padded, _ := piececid.PaddedSize(int64(len(payload)))
		payload = append(bytes.Clone(payload), make([]byte, piece.Unpadded(padded)-int64(len(payload)))...)
	}
	if p.noRanges {
		r.Header.Del("Range")
	}
	p.mu.Lock()
	most := p.breakOff
	if r.Method == http.MethodGet && r.Header.Get("Range") != "bytes=0-0" {
		p.breakOff = 0
	} else {
		most = 0
	}
	p.mu.Unlock()
	http.ServeContent(&cutWriter{ResponseWriter: w, sent: &p.sent, most: most}, r, "", time.Time{}, bytes.NewReader(payload))
}

// cutWriter ends the connection after so many bytes, if most is not 0.
type cutWriter struct {
	http.ResponseWriter
	sent *atomic.Int64
	most int
	n    int
}

func (w *cutWriter) Write(b []byte) (int, error) {
	if w.most > 0 && w.n+len(b) > w.most {
		w.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	n, err := w.ResponseWriter.Write(b)
	w.n += n
	w.sent.Add(int64(n))
	return n, err
}

func (p *provider) add(t *testing.T, ctx context.Context, dir, placeholder string, verify bool, cids ...piececid.CID) (*piece.Manifest, error) {
	t.Helper()
	server, err := remote.New(remote.Options{URL: p.URL + "/piece/" + placeholder})
	if err != nil {
		t.Fatal(err)
	}
	return dataset.Add(ctx, dir, dataset.Addition{Server: server, CIDs: cids, Verify: verify, Parallel: 2}, io.Discard)
}

func TestSizesOfPiecesOnAServer(t *testing.T) {
	const size = 600_000 // of 1 MiB
	for name, v := range map[string]struct {
		server *provider
		v1     bool // only the CID v1 is known
		ask    string
		want   piece.Piece
	}{
		"by v1 with zeros":             {ask: "{piece}", want: piece.Piece{PayloadSize: size, PaddedSize: 1 << 20}},
		"by v1 without zeros":          {server: &provider{payload: true}, ask: "{piece}", want: piece.Piece{PayloadSize: size, PaddedSize: 1 << 20, PayloadOnly: true}},
		"by v2":                        {ask: "{piece_v2}", want: piece.Piece{PayloadSize: size, PaddedSize: 1 << 20}},
		"HEAD is not routed":           {server: &provider{noHead: true}, ask: "{piece_v2}", want: piece.Piece{PayloadSize: size, PaddedSize: 1 << 20}},
		"neither HEAD nor ranges":      {server: &provider{noHead: true, noRanges: true}, ask: "{piece}", want: piece.Piece{PayloadSize: size, PaddedSize: 1 << 20}},
		"only v1 known":                {v1: true, ask: "{piece}", want: piece.Piece{PayloadSize: 1040384, PaddedSize: 1 << 20}},
		"only v1 known, without zeros": {server: &provider{payload: true}, v1: true, ask: "{piece}", want: piece.Piece{PayloadSize: size, PaddedSize: 1 << 20, PayloadOnly: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if v.server == nil {
				v.server = &provider{}
			}
			p := newProvider(t, v.server)
			c := p.have(t, size)
			if v.v1 {
				c = c.V1()
			}
			dir := t.TempDir()
			if _, err := p.add(t, context.Background(), dir, v.ask, false, c); err != nil {
				t.Fatal(err)
			}
			m, err := piece.Load(filepath.Join(dir, piece.ManifestName))
			if err != nil {
				t.Fatal(err)
			}
			got := m.Pieces[0]
			if got.PayloadSize != v.want.PayloadSize || got.PaddedSize != v.want.PaddedSize || got.PayloadOnly != v.want.PayloadOnly || got.CID != c.V1().String() {
				t.Errorf("%+v", got)
			}
			if n := p.sent.Load(); n > 1<<20 && !v.server.noRanges {
				t.Errorf("%d bytes were read to know a size", n)
			}
		})
	}
}

// What is verified by a download is what a run verifies answers with, to the last range.
func TestVerifiedPiecesOfAServerHaveTheChecksumsOfAnImport(t *testing.T) {
	p := newProvider(t, &provider{noHead: true})
	dir := t.TempDir()
	var cids []piececid.CID
	for _, size := range []int{65, 1_000_000, commp.PartPayload, 2 * commp.PartPayload, 5_000_001, 9_000_000} {
		cids = append(cids, p.have(t, size))
	}
	if _, err := p.add(t, context.Background(), dir, "{piece}", true, cids...); err != nil {
		t.Fatal(err)
	}
	m, err := piece.Load(filepath.Join(dir, piece.ManifestName))
	if err != nil || len(m.Pieces) != len(cids) {
		t.Fatalf("%+v, %v", m, err)
	}
	references, err := verifier.OpenAll(dir, m)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cids {
		if m.Pieces[i].CIDv2 != c.String() {
			t.Errorf("piece %d is %s, want the order of the CIDs", i, m.Pieces[i].CIDv2)
		}
		payload := p.payloads[string(c.Root[:])]
		check := references[i].Range(0, int64(len(payload)))
		if _, err := check.Write(payload); err != nil || check.Checked() != int64(len(payload)) {
			t.Errorf("%d bytes: %d checked, %v", len(payload), check.Checked(), err)
		}
	}
	if faults := verify(t, dir); faults != "" {
		t.Errorf("Verify: %s", faults)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "checksums", ".*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	before := p.sent.Load()
	if _, err := p.add(t, context.Background(), dir, "{piece}", true, cids...); err != nil || p.sent.Load() != before {
		t.Errorf("what is verified was read again: %d bytes, %v", p.sent.Load()-before, err)
	}
}

func TestADownloadThatBreaksOffGoesOnWhereItWas(t *testing.T) {
	const size = 40_000_000
	for name, server := range map[string]*provider{"with ranges": {}, "without": {noRanges: true}} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, server)
			c := p.have(t, size)
			p.breakOff = 30_000_000
			if _, err := p.add(t, context.Background(), t.TempDir(), "{piece_v2}", true, c); err != nil {
				t.Fatal(err)
			}
			if extra := p.sent.Load() - size; extra > 3_000_000 && !server.noRanges {
				t.Errorf("%d bytes were sent twice", extra)
			}
		})
	}
}

func TestAnInterruptedVerificationGoesOnWhereItWas(t *testing.T) {
	p := newProvider(t, &provider{})
	small, large := p.have(t, 1_000_000), p.have(t, 40_000_000)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	p.breakOff = 30_000_000
	if _, err := p.add(t, ctx, dir, "{piece_v2}", true, small); err != nil { // which is shorter than that
		t.Fatal(err)
	}
	p.breakOff = 30_000_000
	go func() { // as Ctrl-C does, once there is something to keep
		journal := filepath.Join(dir, "checksums", "."+large.V1().String()+".journal")
		for ctx.Err() == nil {
			if info, err := os.Stat(journal); err == nil && info.Size() > 10_000 {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := p.add(t, ctx, dir, "{piece_v2}", true, small, large); err == nil {
		t.Fatal("it was not interrupted")
	}
	m, err := piece.Load(filepath.Join(dir, piece.ManifestName))
	if err != nil || len(m.Pieces) != 1 {
		t.Fatalf("%+v, %v: want the piece that was done", m, err)
	}
	before := p.sent.Load()
	if m, err = p.add(t, context.Background(), dir, "{piece_v2}", true, small, large); err != nil || len(m.Pieces) != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	if again := p.sent.Load() - before; again > 25_000_000 {
		t.Errorf("%d of 40000000 bytes were sent again", again)
	}
}

func TestADamagedJournalIsUsedUpToTheDamage(t *testing.T) {
	p := newProvider(t, &provider{})
	c := p.have(t, 20_000_000)
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "checksums"), 0o755); err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(dir, "checksums", "."+c.V1().String()+".journal")
	if err := os.WriteFile(journal, bytes.Repeat([]byte("rubbish"), 1000), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := p.add(t, context.Background(), dir, "{piece}", true, c); err != nil {
		t.Fatal(err)
	}
}

func TestPiecesThatAreNotWhatTheirCIDNamesAreNotAdded(t *testing.T) {
	p := newProvider(t, &provider{})
	good, bad, short := p.have(t, 3_000_000), p.have(t, 5_000_000), p.have(t, 7_000_000)
	p.payloads[string(bad.Root[:])][4_999_999]++
	dir := t.TempDir()
	_, err := p.add(t, context.Background(), dir, "{piece}", true, bad, good)
	mismatch := (*remote.Mismatch)(nil)
	if !errors.As(err, &mismatch) || !strings.Contains(err.Error(), bad.V1().String()) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
	m, err := piece.Load(filepath.Join(dir, piece.ManifestName))
	if err != nil || len(m.Pieces) != 1 || m.Pieces[0].CIDv2 != good.String() {
		t.Errorf("%+v, %v: want the good piece", m, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "checksums", ".*")); len(left) > 0 {
		t.Errorf("left of the bad one: %v", left)
	}

	p.payloads[string(short.Root[:])] = p.payloads[string(short.Root[:])][:6_999_999]
	dir = t.TempDir()
	if _, err = p.add(t, context.Background(), dir, "{piece_v2}", false, good, short); !errors.As(err, &mismatch) || !strings.Contains(err.Error(), "6999999 bytes") {
		t.Errorf("error %v", err)
	}
	if left := snapshot(t, dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestPiecesOfAServerAreNotMixedWithFiles(t *testing.T) {
	p := newProvider(t, &provider{})
	dir := t.TempDir()
	create(t, dir, dataset.Params{Pieces: 1, PieceSize: 128, Seed: 1})
	if _, err := p.add(t, context.Background(), dir, "{piece}", false, p.have(t, 1000)); err == nil || !strings.Contains(err.Error(), "--dir") {
		t.Errorf("error %v", err)
	}
}
