package studies

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piecebench/bench/result"
	"piecebench/records"
	"piecebench/report"
)

const second = int64(1e9)

// measured writes the jobs of a cell whose window is from 100 s to 200 s, and returns the
// cell as a run keeps it.
func measured(t *testing.T, dir string, c result.Cell, jobs ...records.Job) result.Cell {
	t.Helper()
	c.Link, c.WindowS = "none", 100
	name := fmt.Sprintf("%d.parquet", c.ID)
	w, err := records.CreateJobs(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		w.Add(&j)
	}
	if err := w.Close(records.Window{StartNs: 100 * second, EndNs: 200 * second}); err != nil {
		t.Fatal(err)
	}
	recorded, err := records.OpenJobs(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := result.SummariseJobs(recorded.Rows(), recorded.Window(), &c); err != nil {
		t.Fatal(err)
	}
	c.Jobs.Records = name
	return c
}

// lines returns the cells of a document's tables, joined by |.
func lines(d report.Document) (all []string) {
	for _, s := range d.Sections {
		for _, l := range s.Table.Lines {
			all = append(all, strings.Join(l.Cells, "|"))
		}
	}
	return all
}

func TestScansAreCensoredWhereTheyWereCut(t *testing.T) {
	scan := func(start, took int64, outcome records.Outcome) records.Job {
		return records.Job{StartUnixNs: start * second, DurationNs: took * second, Outcome: outcome}
	}
	dir := t.TempDir()
	c := measured(t, dir, result.Cell{ID: 1, Target: "seaweedfs", Mode: "files", Concurrency: 1, Repetition: 1, LimitedBy: "server"},
		scan(90, 5, records.OK), scan(100, 10, records.OK), scan(110, 20, records.OK), scan(150, 30, records.OK), scan(180, 20, records.Cut))
	d, err := Scan(dir, &result.Run{ID: "x", Settings: map[string]string{"WORKLOAD": "scan"}, Planned: 1, Cells: []result.Cell{c}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		// Of 10, 20, more than 20, and 30 half are within 20 s.
		"seaweedfs|files|1|3|0|1|20.0|30.0|30.0|10.0|30.0|server",
		"GlusterFS, in the study|packed|300||||1001|1741|2942|||",
		"SeaweedFS, in the study|files|300||||401|442|521|||",
	}
	if diff := cmp.Diff(want, lines(d)); diff != "" {
		t.Error(diff)
	}
}

func TestSynchronizationsAreAveragedByStage(t *testing.T) {
	sync := func(total, download, verify, overlap int64, outcome records.Outcome) records.Job {
		return records.Job{StartUnixNs: 100 * second, DurationNs: total * second, WindowNs: total * second, Outcome: outcome, OverlapWindowNs: overlap * second,
			Stages: []records.Stage{{Name: records.Download, Ns: download * second}, {Name: "verify", Ns: verify * second}}}
	}
	dir := t.TempDir()
	at := result.Cell{ID: 1, Target: "raw", Mode: "10", Concurrency: 1, Repetition: 1}
	first := measured(t, dir, at, sync(20, 10, 6, 0, records.OK))
	at.ID, at.Repetition = 2, 2
	second := measured(t, dir, at, sync(10, 6, 4, 2, records.OK), sync(50, 0, 0, 0, records.Failed))
	d, err := Batch(dir, &result.Run{ID: "x", Settings: map[string]string{"WORKLOAD": "batch"}, Planned: 2, Cells: []result.Cell{first, second}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Test 1|10.00|6.00|0.00|0.00|4.00|0.00|20.00",
		"Test 2|6.00|4.00|0.00|0.00|2.00|2.00|10.00",
		"Average (s)|8.00|5.00|0.00|0.00|3.00|1.00|15.00",
		"Average (%)|53.33|33.33|0.00|0.00|20.00|6.67|100.00",
	}
	if diff := cmp.Diff(want, lines(d)[:4]); diff != "" {
		t.Error(diff)
	}
	if notes := d.Sections[0].Notes; !slices.Contains(notes, "Not in these figures: 1 synchronization that did not succeed.") {
		t.Errorf("%q", notes)
	}
}

func TestARunOfAnotherWorkloadHasNoStudy(t *testing.T) {
	run := &result.Run{ID: "x", Planned: 1, Cells: []result.Cell{{ID: 1, Target: "raw", Link: "none", Mode: "full", Concurrency: 1, Repetition: 1, WindowS: 1}}}
	for _, document := range []func(string, *result.Run) (report.Document, error){Scan, Batch} {
		if _, err := document(t.TempDir(), run); err == nil || !strings.Contains(err.Error(), "run x is of WORKLOAD=retrieval") {
			t.Error(err)
		}
	}
}
