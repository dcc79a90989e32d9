// Package docs_test holds the documentation to what it describes.
package docs_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"piecebench/bench/result"
	"piecebench/records"
)

const (
	recordedRun  = "../bench/result/testdata/identical-1gbit" // has the records of its cell 16
	recordedCell = 16
	failingCell  = 1 // gets records here, in which requests fail
)

// TestExamplesOfTheResults runs the queries of RESULTS.md on real records, and on
// some with every outcome. It compares their figures with those of the runner.
func TestExamplesOfTheResults(t *testing.T) {
	python := needPython(t)
	run, dir := layRun(t)
	blocks := codeBlocks(t, "RESULTS.md")
	if len(blocks["sql"]) != 2 || len(blocks["python"]) != 1 {
		t.Fatalf("RESULTS.md has %d examples in SQL and %d in Python; want 2 and 1", len(blocks["sql"]), len(blocks["python"]))
	}
	const asJSON = `.to_json(orient="records", double_precision=15)`
	sql := func(query string) []row {
		return python.rows(t, dir, "import duckdb\nprint(duckdb.sql('''"+query+"''').df()"+asJSON+")")
	}
	outcomes, goodputs := sql(blocks["sql"][0]), sql(blocks["sql"][1])
	quantiles := python.rows(t, dir, blocks["python"][0]+"\nprint(cells"+asJSON+")")

	for _, id := range []int{failingCell, recordedCell} {
		cell := run.Cells[id-1]
		name := "results/recorded/" + cell.Records
		reader, err := records.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := result.Summarise(reader.Rows(), reader.Window(), &cell); err != nil || cell.WarmupQuantiles {
			t.Fatal(err, "quantiles of the warm-up:", cell.WarmupQuantiles)
		}
		requests, ttfb := map[records.Outcome]int{}, 0.0
		for r, err := range reader.Rows() {
			if err != nil {
				t.Fatal(err)
			}
			if requests[r.Outcome]++; r.Outcome == records.OK {
				ttfb += float64(r.TTFBNs) / 1e6
			}
		}
		for outcome, n := range requests {
			pick(t, outcomes, "filename", name, "outcome", string(outcome)).want(t, "requests", float64(n))
		}
		got := pick(t, goodputs, "number", float64(id))
		got.want(t, "goodput_mbit_s", cell.GoodputBits()/1e6)
		got.want(t, "waiting_ms", ttfb/float64(requests[records.OK]))
		got = pick(t, quantiles, "filename", name)
		got.want(t, "goodput_mbit_s", cell.GoodputBits()/1e6)
		got.want(t, "duration_p50_ms", cell.Duration.P50.Ms)
		if p95 := cell.Duration.P95; !p95.Bound {
			got.want(t, "duration_p95_ms", p95.Ms)
		} else if got["duration_p95_ms"] != nil {
			t.Errorf("%s: p95 is %v where only a bound is known", name, got["duration_p95_ms"])
		}
	}
}

// layRun copies the recorded run to results/, and adds the records of a second cell.
func layRun(t *testing.T) (*result.Run, string) {
	t.Helper()
	dir := t.TempDir()
	folder := filepath.Join(dir, "results", "recorded")
	if err := os.CopyFS(folder, os.DirFS(recordedRun)); err != nil {
		t.Fatal(err)
	}
	run, err := result.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	writeFailing(t, filepath.Join(folder, run.Cells[failingCell-1].Records), int64(run.Cells[failingCell-1].WindowS*1e9))
	return run, dir
}

// writeFailing writes records with every outcome for a window of this many
// nanoseconds. So many are cut that the 95th percentile is not known.
func writeFailing(t *testing.T, path string, length int64) {
	t.Helper()
	outcomes := slices.Concat(slices.Repeat([]records.Outcome{records.OK}, 7), records.Outcomes)
	w, err := records.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	window := records.Window{StartNs: 1_800_000_000_000_000_000}
	window.EndNs = window.StartNs + length
	random := rand.New(rand.NewPCG(1, 1))
	for i := range 400 {
		outcome := outcomes[i%len(outcomes)]
		r := records.Request{StartUnixNs: window.StartNs - length/10 + random.Int64N(length/2), TTFBNs: 5e6 + random.Int64N(5e6),
			DurationNs: 2e7 + random.Int64N(length/3), Bytes: 1 << 20, Length: 1 << 20, Outcome: outcome, Client: int32(i%10 + 1)}
		if outcome == records.Cut {
			r.DurationNs = window.EndNs - r.StartUnixNs
		}
		if r.StartUnixNs+r.DurationNs > window.StartNs {
			r.WindowBytes = random.Int64N(r.Bytes)
		}
		w.Add(&r)
	}
	if err := w.Close(window); err != nil {
		t.Fatal(err)
	}
}

// codeBlocks returns the fenced blocks of a page by language.
func codeBlocks(t *testing.T, page string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string][]string{}
	for _, block := range regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		blocks[block[1]] = append(blocks[block[1]], block[2])
	}
	return blocks
}

// row is a row of an example's table: text, numbers, nil.
type row map[string]any

func (r row) want(t *testing.T, column string, want float64) {
	t.Helper()
	got, ok := r[column].(float64)
	if !ok || math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s is %v, want %v, in %v", column, r[column], want, r)
	}
}

// pick returns the only row with these values, given as column, value, ...
func pick(t *testing.T, rows []row, columnsAndValues ...any) row {
	t.Helper()
	found := slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
		for i := 0; i < len(columnsAndValues); i += 2 {
			if r[columnsAndValues[i].(string)] != columnsAndValues[i+1] {
				return true
			}
		}
		return false
	})
	if len(found) != 1 {
		t.Fatalf("%d rows have %v; want 1 of %v", len(found), columnsAndValues, rows)
	}
	return found[0]
}

// python runs with what docs/requirements.txt pins.
type python struct{ path, packages string }

// needPython returns a Python with the packages that the examples need. They are kept
// in the user's cache.
func needPython(t *testing.T) python {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: needs python3 and pip: scripts/setup test installs them")
	}
	pins, err := os.ReadFile("requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	version, err := exec.Command(path, "-c", "import sys; print(sys.version, sys.platform)").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	p := python{path, filepath.Join(cache, "piecebench", fmt.Sprintf("python-%.6x", sha256.Sum256(append(version, pins...))))}
	if _, err := os.Stat(p.packages); err == nil {
		return p
	}
	if err := os.MkdirAll(filepath.Dir(p.packages), 0o755); err != nil {
		t.Fatal(err)
	}
	making, err := os.MkdirTemp(filepath.Dir(p.packages), "python-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(making)
	pip := exec.Command(path, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--retries", "1",
		"--only-binary", ":all:", "--no-deps", "--requirement", "requirements.txt", "--target", making)
	if out, err := pip.CombinedOutput(); err != nil {
		for _, unreachable := range []string{"No module named pip", "No matching distribution found", "Could not fetch URL", "Connection"} {
			if strings.Contains(string(out), unreachable) {
				t.Skipf("SKIPPED: pip cannot get duckdb, pandas and pyarrow here, so that no example of RESULTS.md is run: %s", out)
			}
		}
		t.Fatalf("%s: %v\n%s", strings.Join(pip.Args, " "), err, out)
	}
	if err := os.Rename(making, p.packages); err != nil {
		t.Fatal(err)
	}
	return p
}

// rows runs a script whose last line of output is a table in JSON.
func (p python) rows(t *testing.T, dir, script string) []row {
	t.Helper()
	cmd := exec.Command(p.path, "-s", "-W", "error", "-")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONPATH="+p.packages)
	cmd.Stdin = strings.NewReader(script)
	var diagnostics strings.Builder
	cmd.Stderr = &diagnostics
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, diagnostics.String(), script)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var table []row
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &table); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return table
}
