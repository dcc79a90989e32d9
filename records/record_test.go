package records

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var window = Window{StartNs: 1_000, EndNs: 2_000}

// sample returns n requests that differ in every field.
func sample(n int) []Request {
	rows := make([]Request, n)
	for i := range rows {
		k := int64(i + 1)
		rows[i] = Request{
			StartUnixNs: k, ConnectNs: 2 * k, TLSNs: 3 * k, TTFBNs: 4 * k, DurationNs: 5 * k,
			Bytes: 6 * k, WindowBytes: 7 * k, Piece: fmt.Sprintf("baga%d", i%3), Offset: 8 * k, Length: 9 * k,
			Status: int32(200 + i%300), Outcome: OK, Error: fmt.Sprintf("error %d", i%5),
			Verified: i%2 == 0, Reused: i%3 == 0, Redirects: int32(i % 4), Client: int32(i % 1000), HTTP: "HTTP/1.1", RedirectNs: 10 * k,
			VerifiedBytes: 11 * k, Job: 12 * k, Object: fmt.Sprintf("object %d", i%7),
		}
	}
	return rows
}

func readAll(t *testing.T, path string) []Request {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if r.Window() != window {
		t.Errorf("window %v, want %v", r.Window(), window)
	}
	var rows []Request
	for row, err := range r.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// write adds rows in flushes of batch rows.
func write(t *testing.T, w *Writer[Request], rows []Request, batch int) {
	t.Helper()
	for i := range rows {
		w.Add(&rows[i])
		if (i+1)%batch == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestRowsComeBackInOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cell.parquet")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	want := sample(5000)
	write(t, w, want, 700)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the records file exists before it is complete: %v", err)
	}
	if err := w.Close(window); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, readAll(t, path)); diff != "" {
		t.Error(diff)
	}
	left, _ := os.ReadDir(filepath.Dir(path))
	if len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestTimingsAreThoseOfTheRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cell.parquet")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	all := sample(3000)
	write(t, w, all, 1000)
	if err := w.Close(window); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for got, err := range r.Timings() {
		if err != nil {
			t.Fatal(err)
		}
		want := Request{StartUnixNs: all[n].StartUnixNs, ConnectNs: all[n].ConnectNs, TLSNs: all[n].TLSNs,
			TTFBNs: all[n].TTFBNs, DurationNs: all[n].DurationNs, Outcome: all[n].Outcome, RedirectNs: all[n].RedirectNs}
		if got != want {
			t.Fatalf("row %d: %+v, want %+v", n, got, want)
		}
		n++
	}
	if n != len(all) {
		t.Errorf("%d rows, want %d", n, len(all))
	}
}

func TestRowGroupsAreLimited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cell.parquet")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	want := sample(groupRows + 2)
	write(t, w, want, groupRows/2+1)
	if st, err := os.Stat(path + unfinishedSuffix); err != nil || st.Size() < groupRows {
		t.Errorf("a full row group is not written before the end: %v, %v", st.Size(), err)
	}
	if err := w.Close(window); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, path); !slices.Equal(got, want) {
		t.Errorf("%d rows came back, want %d; or their order changed", len(got), len(want))
	}
	f, pf, err := openParquet(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := len(pf.RowGroups()); got != 2 {
		t.Errorf("%d row groups, want 2 of at most %d rows", got, groupRows)
	}
}

func TestResultsAreNotOverwritten(t *testing.T) {
	dir := t.TempDir()
	done, killed := filepath.Join(dir, "done.parquet"), filepath.Join(dir, "killed.parquet")
	w, err := Create(done)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(window); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(killed); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{done, killed} {
		if _, err := Create(path); err == nil || !strings.Contains(err.Error(), "exists already") {
			t.Errorf("Create(%s): %v", filepath.Base(path), err)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "none.parquet")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
	path := filepath.Join(dir, "unfinished.parquet")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, w, sample(groupRows), groupRows)
	if _, err := Open(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not complete: %v", err)
	}
	if _, err := Open(path + unfinishedSuffix); err == nil {
		t.Error("an unfinished file opens under its own name")
	}
	broken := filepath.Join(dir, "broken.parquet")
	if err := os.WriteFile(broken, []byte("PAR1 and no footer"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(broken); err == nil || !strings.Contains(err.Error(), "broken.parquet") {
		t.Errorf("broken file: %v", err)
	}
}

func TestAddWhileFlushing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cell.parquet")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	const clients, each = 50, 200
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for range each {
				w.Add(&Request{Client: int32(c)})
			}
		})
	}
	for range 20 {
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	if err := w.Close(window); err != nil {
		t.Fatal(err)
	}
	count := make(map[int32]int)
	for _, row := range readAll(t, path) {
		count[row.Client]++
	}
	for c := range int32(clients) {
		if count[c] != each {
			t.Fatalf("client %d has %d rows, want %d", c, count[c], each)
		}
	}
}

// A server can have each of its errors be another one.
func TestDifferentErrorsAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	const n = 5000
	for i := range n {
		w.Add(&Request{Outcome: Status, Error: fmt.Sprintf("error %d", i%(n/2))})
		w.Add(&Request{Outcome: OK})
	}
	if err := w.Close(Window{1, 2}); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]int{}
	for row, err := range r.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		texts[row.Error]++
	}
	if len(texts) != maxErrors+2 || texts["error 0"] != 2 || texts[OtherError] != n-2*maxErrors || texts[""] != n {
		t.Errorf("%d different errors, %d of them others; want %d, and 2 of each", len(texts), texts[OtherError], maxErrors)
	}
}

func TestAnErrorKeepsTheUnfinishedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cell.parquet")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w.Add(&sample(1)[0])
	if err := os.Mkdir(path, 0o755); err != nil { // so that the rename fails
		t.Fatal(err)
	}
	if err := w.Close(window); err == nil {
		t.Error("no error")
	}
	if st, err := os.Stat(path + unfinishedSuffix); err != nil || st.Size() == 0 {
		t.Error("the unfinished file is gone:", err)
	}
}
