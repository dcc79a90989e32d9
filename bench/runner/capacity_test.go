package runner_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"piecebench/bench/capacity"
)

// interruptedSearch is a search up to 20 clients whose second cell fails the first time.
func interruptedSearch(t *testing.T) *bed {
	t.Helper()
	b := newBed(t)
	b.options.Capacity = &capacity.Limits{File: "limits.yaml", Content: "- success_rate: 50%", AtLeast: 1}
	real := b.options.K6
	b.wrapK6(`case "$CELL" in *'"clients":20,'*) echo not yet >&2; exit 3;; esac; exec "$K6" "$@"`)
	if err := b.sweep("--concurrency", "20"); err == nil {
		t.Fatal("the second cell did not fail")
	}
	if run := b.load(); len(run.Cells) != 1 || run.Finished != nil || run.Planned != capacity.MostCells || run.Capacity.Answers[0].Done || run.Capacity.Reached() {
		t.Errorf("%d cells, planned %d, %+v", len(run.Cells), run.Planned, run.Capacity)
	}
	b.options.K6, b.options.Resume = real, true
	return b
}

func TestASearchIsResumedWithoutMeasuringAgain(t *testing.T) {
	b := interruptedSearch(t)
	records := filepath.Join(b.options.Out, b.load().Cells[0].Records)
	before, err := os.ReadFile(records)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.sweep("--concurrency", "20"); err != nil {
		t.Fatal(err)
	}
	after, _ := os.ReadFile(records)
	run := b.load()
	var clients []int
	for i, c := range run.Cells {
		if clients = append(clients, c.Concurrency); c.ID != i+1 {
			t.Errorf("cell %d has the number %d", i+1, c.ID)
		}
	}
	a := run.Capacity.Answers[0]
	if len(clients) != 3 || clients[0] != 16 || clients[1] != 20 || clients[2] != 20 || !bytes.Equal(before, after) || run.Cells[2].Repetition != 2 {
		t.Errorf("cells of %v clients; the first one's records are the same: %v", clients, bytes.Equal(before, after))
	}
	if run.Planned != 3 || run.Finished == nil || !a.Done || a.Clients != 20 || a.AtLeast != "most" || !run.Capacity.Reached() {
		t.Errorf("planned %d, finished %v, %+v", run.Planned, run.Finished, a)
	}
	for _, name := range []string{"report.html", "report.md"} {
		if text, _ := os.ReadFile(filepath.Join(b.options.Out, name)); !strings.Contains(string(text), "mine serves at least 20 clients within limits.yaml") {
			t.Errorf("%s does not have the answer", name)
		}
	}
}

func TestASearchIsNotResumedWithOtherLimits(t *testing.T) {
	b := interruptedSearch(t)
	before := files(t, b.options.Out)
	b.options.Capacity.Content = "- success_rate: 60%"
	if err := b.sweep("--concurrency", "20"); err == nil || !strings.Contains(err.Error(), `limits: "- success_rate: 50%" then, "- success_rate: 60%" now`) {
		t.Error(err)
	}
	b.options.Capacity = nil
	if err := b.sweep("--concurrency", "20"); err == nil || !strings.Contains(err.Error(), `limits: "- success_rate: 50%" then, nothing known now`) {
		t.Error(err)
	}
	if after := files(t, b.options.Out); before != after {
		t.Errorf("a refused resume changed the run: %s, it was %s", after, before)
	}
}
