package records

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// jobs returns n jobs that differ in every field, and in how many stages they have.
func jobs(n int) []Job {
	rows := make([]Job, n)
	for i := range rows {
		k := int64(i + 1)
		rows[i] = Job{
			Number: k, Client: int32(i % 100), StartUnixNs: 2 * k, DurationNs: 3 * k, WindowNs: 4 * k,
			Outcome: []Outcome{OK, Cut, Failed}[i%3], Error: fmt.Sprintf("error %d", i%5), Requests: 5 * k, Bytes: 6 * k, OverlapWindowNs: 7 * k,
		}
		for s := range i % 4 {
			rows[i].Stages = append(rows[i].Stages, Stage{Name: fmt.Sprint("stage ", s), Ns: k, WindowNs: k / 2})
		}
	}
	return rows
}

func TestJobsComeBackInOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.parquet")
	w, err := CreateJobs(path)
	if err != nil {
		t.Fatal(err)
	}
	want := jobs(3*batchRows + 1)
	for i := range want {
		w.Add(&want[i])
		if i%1000 == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(window); err != nil {
		t.Fatal(err)
	}
	r, err := OpenJobs(path)
	if err != nil {
		t.Fatal(err)
	}
	if r.Window() != window {
		t.Errorf("window %v, want %v", r.Window(), window)
	}
	var got []Job
	for row, err := range r.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		if len(row.Stages) == 0 {
			row.Stages = nil
		}
		got = append(got, row)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Runs before jobs have no columns job and object.
func TestRequestsWithoutJobColumnsAreRead(t *testing.T) {
	type old struct {
		StartUnixNs   int64   `parquet:"start_unix_ns"`
		Piece         string  `parquet:"piece,dict"`
		Outcome       Outcome `parquet:"outcome,dict"`
		VerifiedBytes int64   `parquet:"verified_bytes"`
	}
	path := filepath.Join(t.TempDir(), "old.parquet")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pw := parquet.NewGenericWriter[old](f)
	pw.SetKeyValueMetadata(MetaWindowStart, fmt.Sprint(window.StartNs))
	pw.SetKeyValueMetadata(MetaWindowEnd, fmt.Sprint(window.EndNs))
	if _, err := pw.Write([]old{{5, "baga", OK, 7}, {6, "bagb", Cut, 0}}); err != nil {
		t.Fatal(err)
	}
	if err := pw.Close(); err != nil {
		t.Fatal(err)
	}
	want := []Request{{StartUnixNs: 5, Piece: "baga", Outcome: OK, VerifiedBytes: 7}, {StartUnixNs: 6, Piece: "bagb", Outcome: Cut}}
	if diff := cmp.Diff(want, readAll(t, path)); diff != "" {
		t.Error(diff)
	}
}
