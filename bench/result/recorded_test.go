package result

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piecebench/records"
)

// recordedRun is a real run with the records of one of its cells; it stands in
// testdata as it was written, at schema 1.
const recordedRun = "testdata/identical-1gbit"

// Every figure of a cell comes out of its records again.
func TestARecordedCellIsSummarisedAsItWas(t *testing.T) {
	run, err := Load(recordedRun)
	if err != nil {
		t.Fatal(err)
	}
	replayed := 0
	for _, want := range run.Cells {
		reader, err := records.Open(filepath.Join(recordedRun, want.Records))
		if err != nil {
			continue // only some records are kept
		}
		replayed++
		got := want
		got.WindowS, got.RequestsOK, got.RequestsCut, got.WindowBytes, got.Failed, got.FirstErrors = 0, 0, 0, 0, nil, nil
		want.DeliveredBytes = want.WindowBytes // all: none of them failed
		got.TTFB, got.Duration, got.WarmupQuantiles = Quantiles{}, Quantiles{}, false
		if err := Summarise(reader.Rows(), reader.Window(), &got); err != nil {
			t.Fatal(err)
		}
		got.WindowStart, got.Fairness = want.WindowStart, nil // runs as old as this one do not have them
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("cell %d: %s", want.ID, diff)
		}
	}
	if replayed != 1 {
		t.Errorf("%d cells were replayed, want the one whose records are kept", replayed)
	}
}

// Schema 1 stays readable, whatever comes after it.
func TestARunOfSchema1IsRead(t *testing.T) {
	run, err := Load(recordedRun)
	if err != nil {
		t.Fatal(err)
	}
	c := run.Cells[0]
	if run.Schema != 1 || len(run.Cells) != 30 || len(run.Calibrations) != 1 || c.Target != "raw" || c.GoodputBits() < 900e6 || c.TTFB.P95 == nil {
		t.Errorf("schema %d, %d cells, first %+v", run.Schema, len(run.Cells), c)
	}
}

// changed writes the recorded run.json after a change and loads it.
func changed(t *testing.T, change func(run map[string]any)) (*Run, error) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(recordedRun, RunFile))
	if err != nil {
		t.Fatal(err)
	}
	var run map[string]any
	if err := json.Unmarshal(data, &run); err != nil {
		t.Fatal(err)
	}
	change(run)
	if data, err = json.Marshal(run); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, RunFile), data, 0o644); err != nil {
		t.Fatal(err)
	}
	return Load(dir)
}

func TestARecordedRunOfAnotherSchema(t *testing.T) {
	if _, err := changed(t, func(run map[string]any) { run["schema"] = SchemaVersion + 1 }); err == nil || !strings.Contains(err.Error(), "use a newer piecebench") {
		t.Errorf("newer: %v", err)
	}
	if _, err := changed(t, func(run map[string]any) { delete(run, "schema") }); err == nil || !strings.Contains(err.Error(), "no schema version") {
		t.Errorf("before schemas: %v", err)
	}
	// A field that this version does not know is no reason to refuse.
	if _, err := changed(t, func(run map[string]any) { run["new"] = map[string]any{"x": 1} }); err != nil {
		t.Errorf("unknown field: %v", err)
	}
}

func TestARecordedRunWithoutOneCellIsReadAsIncomplete(t *testing.T) {
	run, err := changed(t, func(run map[string]any) { run["cells"] = run["cells"].([]any)[1:] })
	if err != nil || len(run.Cells) != run.Planned-1 {
		t.Fatalf("%v", err)
	}
}

// Wherever the file ends, that is said, and in one line.
func TestATruncatedRecordedRunIsRefused(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(recordedRun, RunFile))
	if err != nil {
		t.Fatal(err)
	}
	whole := len(strings.TrimRight(string(data), "\n"))
	dir := t.TempDir()
	for end := 1; end < whole; end += 997 {
		if err := os.WriteFile(filepath.Join(dir, RunFile), data[:end], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "truncated") || strings.Contains(err.Error(), "\n") {
			t.Errorf("after %d of %d bytes: %v", end, whole, err)
		}
	}
}
