package retrieval_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"piecebench/k6/x/retrieval/draw"
	"piecebench/records"
)

func TestEveryRequestIsRecorded(t *testing.T) {
	c := newCell(t, nil)
	c.run(t)
	rows, r := c.rows(t)
	win := r.Window()
	if win.EndNs-win.StartNs != int64(time.Second) {
		t.Errorf("window %d ns", win.EndNs-win.StartNs)
	}
	var bytesAll int64
	objects := make([]draw.Object, len(c.manifest.Pieces))
	for i, p := range c.manifest.Pieces {
		objects[i] = draw.Object{Size: p.UnpaddedSize(), Align: 1}
	}
	byClient := make(map[int32][]records.Request)
	for _, row := range rows {
		bytesAll += row.Bytes
		byClient[row.Client] = append(byClient[row.Client], row)
		end := row.StartUnixNs + row.DurationNs
		switch {
		case row.Outcome == "ok" && (row.Bytes != row.Length || !row.Verified || row.VerifiedBytes != row.Length || row.Status != 206 || row.TTFBNs <= 0 || row.HTTP != "HTTP/1.1"):
			t.Fatalf("ok with %+v", row)
		case row.Outcome != "ok" && row.Outcome != "cut":
			t.Fatalf("%+v", row)
		case row.WindowBytes > row.Bytes,
			end < win.StartNs && row.WindowBytes != 0,
			row.StartUnixNs > win.StartNs && end < win.EndNs && row.WindowBytes != row.Bytes:
			t.Fatalf("window %+v, but %+v", win, row)
		}
	}
	if cut := count(rows, records.Cut); cut > 5 {
		t.Errorf("%d cut requests of 5 clients", cut)
	}
	// Each client asks for its part of the seeded sequence, in order.
	if len(byClient) != 5 {
		t.Errorf("%d clients, want 5", len(byClient))
	}
	for client, got := range byClient {
		slices.SortFunc(got, func(a, b records.Request) int { return int(a.StartUnixNs - b.StartUnixNs) })
		want := draw.New(1, uint64(client), objects, 64<<10)
		for i, row := range got {
			w := want.Next()
			if row.Piece != c.manifest.Pieces[w.Piece].CID || row.Offset != w.Offset || row.Length != w.Length {
				t.Fatalf("client %d, request %d: %s %d+%d, want %+v", client, i, row.Piece, row.Offset, row.Length, w)
			}
			if row.Reused != (i > 0) {
				t.Fatalf("client %d, request %d: reused %v", client, i, row.Reused)
			}
		}
	}
	lines := c.lines(t)
	last := lines[len(lines)-1]
	if !last.Done || last.Active != 0 || last.Bytes != bytesAll || last.WindowStart != win.StartNs || last.WindowEnd != win.EndNs ||
		last.OK != int64(count(rows, records.OK)) || last.Cut != int64(count(rows, records.Cut)) || last.Failed != 0 {
		t.Errorf("last progress line %+v, but %d rows with %d bytes", last, len(rows), bytesAll)
	}
	if first := lines[0]; first.Bytes != 0 || first.Done || len(lines) < 3 {
		t.Errorf("%d progress lines, the first %+v", len(lines), first)
	}
	c.checkPoints(t, rows, bytesAll)
}

func TestFailuresAreRecordedAndTheTestGoesOn(t *testing.T) {
	c := newCell(t, func(files http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rec := httptest.NewRecorder()
			files.ServeHTTP(rec, r)
			body := rec.Body.Bytes()
			body[len(body)-1] ^= 1
			for k, v := range rec.Header() {
				w.Header()[k] = v
			}
			w.WriteHeader(rec.Code)
			w.Write(body)
		})
	})
	c.run(t)
	rows, _ := c.rows(t)
	bad := count(rows, records.Corrupt)
	if bad < 10 || count(rows, records.OK) != 0 {
		t.Fatalf("%d corrupt, %d ok", bad, count(rows, records.OK))
	}
	for _, row := range rows {
		want := fmt.Sprintf("piece %s: byte %d is", row.Piece, row.Offset+row.Length-1)
		if row.Outcome == "corrupt" && !strings.Contains(row.Error, want) && row.Error != records.OtherError {
			t.Fatalf("error %q, want %q", row.Error, want)
		}
	}
	if lines := c.lines(t); lines[len(lines)-1].Failed != int64(bad) {
		t.Errorf("progress says %d failed, records %d", lines[len(lines)-1].Failed, bad)
	}
	failed := 0.0
	for _, p := range c.readPoints(t) {
		if p.Metric == "http_req_failed" {
			failed += p.Data.Value
		}
	}
	if int(failed) != bad {
		t.Errorf("http_req_failed counts %.0f, records %d", failed, bad)
	}
}
