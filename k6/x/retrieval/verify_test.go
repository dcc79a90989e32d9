package retrieval_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"piecebench/internal/testset"
	"piecebench/k6/x/retrieval/httpget"
	"piecebench/piece"
	"piecebench/piece/verify"
	"piecebench/records"
)

// datasets are of one piece each, which ends with zeros where it was imported.
var datasets = map[string]func(t *testing.T, dir string) (string, *piece.Manifest){
	"generated": func(t *testing.T, dir string) (string, *piece.Manifest) { return testset.Write(t, dir, 1, 16<<20) },
	"imported": func(t *testing.T, dir string) (string, *piece.Manifest) {
		d := testset.Import(t, dir, 15_000_001)
		return d.Path, d.Manifest
	},
}

// serveAll serves body as every piece, with the right headers for it.
func serveAll(t *testing.T, body []byte) (url string) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, to := 0, len(body)-1
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); n == 2 {
			w.Header().Set("Content-Length", strconv.Itoa(to-from+1))
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(body)))
			w.WriteHeader(http.StatusPartialContent)
		}
		w.Write(body[from : to+1])
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(srv.CloseClientConnections)
	return srv.URL + "/piece/{piece}"
}

func TestAServerOfWrongBytesScoresNoVerifiedOK(t *testing.T) {
	for name, make := range datasets {
		dir := t.TempDir()
		manifest, m := make(t, dir)
		target := serveAll(t, slices.Repeat([]byte{0xee}, int(m.Pieces[0].UnpaddedSize())))
		for _, length := range []int64{16 << 10, 1 << 20, 10 << 20, 0} {
			c := newCell(t, nil)
			c.does.URL, c.does.Manifest, c.does.Length = target, manifest, length
			c.does.Requests, c.does.Warmup, c.does.Duration, c.does.Clients = 20, 0, time.Minute, 3
			c.run(t)
			rows, _ := c.rows(t)
			if corrupt := count(rows, records.Corrupt); len(rows) != 60 || corrupt != 60 {
				t.Errorf("%s, %d bytes: of %d requests %d are corrupt and %d ok, want 60 corrupt", name, length, len(rows), corrupt, count(rows, records.OK))
			}
		}
	}
}

// Right bytes of imported pieces are verified to the last one.
func TestEveryByteOfAnImportedPieceIsVerified(t *testing.T) {
	dir := t.TempDir()
	manifest, m := datasets["imported"](t, dir)
	data, err := os.ReadFile(filepath.Join(dir, m.Pieces[0].Flat))
	if err != nil {
		t.Fatal(err)
	}
	target := serveAll(t, data)
	for _, length := range []int64{48 << 10, 1 << 20, 0} {
		c := newCell(t, nil)
		c.does.URL, c.does.Manifest, c.does.Length = target, manifest, length
		c.does.Requests, c.does.Warmup, c.does.Duration, c.does.Verify = 10, 0, time.Minute, 0.5
		c.run(t)
		rows, _ := c.rows(t)
		verified := 0
		for _, row := range rows {
			if row.Outcome != records.OK || row.Verified != (row.VerifiedBytes > 0) || row.Verified && row.VerifiedBytes != row.Length {
				t.Errorf("%d bytes: %+v", length, row)
			}
			if row.Verified {
				verified++
			}
		}
		if verified < 10 || verified > 40 {
			t.Errorf("%d bytes: %d of %d requests verified, want about half", length, verified, len(rows))
		}
	}
}

func TestRangesThatCannotBeVerifiedEndTheTestAtItsStart(t *testing.T) {
	d := testset.Import(t, t.TempDir(), 100_000)
	c := newCell(t, nil)
	c.does.Manifest, c.does.Length = d.Path, 4<<10
	if err := c.command(t).Run(); err == nil || !strings.Contains(c.stderr.String(), "in blocks of 16KiB") {
		t.Errorf("%v\n%s", err, c.stderr.String())
	}
	if rows, err := records.Open(c.records); err == nil {
		t.Errorf("records are left: %+v", rows)
	}
}

// flipping serves body with one bit wrong, at the byte that the URL names, in
// the transfer coding that it names.
func flipping(body []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, _ := strconv.Atoi(r.URL.Query().Get("at"))
		from, to := 0, len(body)-1
		status := http.StatusOK
		if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); n == 2 {
			status = http.StatusPartialContent
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(body)))
		}
		part := slices.Clone(body[from : to+1])
		part[at-from] ^= 1 << (at % 8)
		if r.URL.Query().Get("coding") != "chunked" {
			w.Header().Set("Content-Length", strconv.Itoa(len(part)))
		}
		w.WriteHeader(status)
		w.Write(part)
	})
}

// One wrong bit is found wherever it is in the answer, whichever way the body takes
// through the client.
func TestOneFlippedBitIsCaught(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for name, make := range datasets {
		dir := t.TempDir()
		_, m := make(t, dir)
		p := m.Pieces[0]
		body, err := os.ReadFile(filepath.Join(dir, p.Flat))
		if err != nil {
			t.Fatal(err)
		}
		ref, err := verify.Open(dir, m, p)
		if err != nil {
			t.Fatal(err)
		}
		plain, secure := httptest.NewServer(flipping(body)), httptest.NewTLSServer(flipping(body))
		defer plain.Close()
		defer secure.Close()
		client := httpget.New(httpget.Config{Dial: new(net.Dialer).DialContext, TLS: secure.Client().Transport.(*http.Transport).TLSClientConfig})
		defer client.Close()

		const block = piece.ChecksumBlock
		lastBlock := (p.PayloadSize - 1) / block * block // of the imported piece it is short
		for _, r := range []httpget.Request{
			{Offset: 0, Length: block},
			{Offset: 7 * block, Length: 1 << 20},
			{Offset: lastBlock, Length: block},
			{Offset: lastBlock - 10*block, Length: 32 * block},
			{Offset: 0, Length: p.UnpaddedSize(), Whole: true},
		} {
			r.Length = min(r.Length, p.UnpaddedSize()-r.Offset) // of the generated piece, which ends there
			positions := []int64{0, 1, block - 1, r.Length / 2, r.Length - 2, r.Length - 1}
			for range 4 {
				positions = append(positions, random.Int64N(r.Length))
			}
			for _, at := range positions {
				at += r.Offset
				for server, coding := range map[string]string{plain.URL: "", plain.URL + "/": "chunked", secure.URL: ""} {
					r.URL, _ = url.Parse(fmt.Sprintf("%s?at=%d&coding=%s", server, at, coding))
					r.Size = p.UnpaddedSize()
					check := ref.Range(r.Offset, r.Length)
					r.Sink = check
					if res := client.Get(context.Background(), r); res.Outcome != records.Corrupt || r.Offset+check.Checked() > at {
						t.Errorf("%s, %d bytes at %d from %s (%s): byte %d is wrong, and the outcome is %s (%s)", name, r.Length, r.Offset, server, coding, at, res.Outcome, res.Error)
					}
				}
			}
		}
	}
}
