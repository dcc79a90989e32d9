package retrieval_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"piecebench/internal/contained"
	"piecebench/internal/program"
	"piecebench/internal/testset"
	"piecebench/piece"
	"piecebench/records"
)

func TestMain(m *testing.M) { os.Exit(contained.Run(m.Run)) }

// k6 is the binary under test.
var k6 = sync.OnceValues(func() (string, error) { return program.Build("k6") })

// cell is one run of a script against a server.
type cell struct {
	dir, records, progress, points string
	script                         string // path; empty: scripts/retrieval.js
	manifest                       *piece.Manifest
	does                           records.Cell
	stderr                         bytes.Buffer
}

const padded = 1 << 20 // of the test pieces

// newCell makes a dataset and a server that serve wraps.
func newCell(t *testing.T, serve func(files http.Handler) http.Handler) *cell {
	t.Helper()
	dir := t.TempDir()
	path, m := testset.Write(t, dir, 3, padded)
	address := testset.Serve(t, dir, serve)
	c := &cell{
		dir: dir, manifest: m,
		records: filepath.Join(dir, "cell.parquet"), progress: filepath.Join(dir, "cell.jsonl"), points: filepath.Join(dir, "points.json"),
	}
	c.does = records.Cell{
		URL: address + "/piece/{piece}", Manifest: path, Length: 64 << 10, Clients: 5, Seed: 1, Stall: 30 * time.Second,
		Warmup: 500 * time.Millisecond, Duration: time.Second, RecordsPath: c.records, Progress: c.progress, Verify: 1,
		Tags: map[string]string{"run": "r1", "target": "raw", "link": "none", "mode": "64KiB", "concurrency": "5", "repetition": "2"},
	}
	return c
}

func (c *cell) command(t *testing.T) *exec.Cmd {
	t.Helper()
	args := []string{"run", "--quiet", "--summary-mode=disabled", "--no-thresholds", "--no-usage-report", "--address", "",
		"--out", "json=" + c.points, cmp.Or(c.script, "../../scripts/retrieval.js")}
	k6, err := k6()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(k6, args...)
	cmd.Stderr = &c.stderr
	cmd.Env = append(os.Environ(), c.does.Variable())
	return cmd
}

func (c *cell) run(t *testing.T) {
	t.Helper()
	if err := c.command(t).Run(); err != nil {
		t.Fatalf("%v\n%s", err, c.stderr.String())
	}
}

func (c *cell) rows(t *testing.T) ([]records.Request, *records.Reader) {
	t.Helper()
	r, err := records.Open(c.records)
	if err != nil {
		t.Fatalf("%v\n%s", err, c.stderr.String())
	}
	var rows []records.Request
	for row, err := range r.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows, r
}

// runs has the cell run a script of its own: what comes after the imports, the client
// and the options, which are on line 1.
func (c *cell) runs(t *testing.T, text string) {
	t.Helper()
	lib, err := filepath.Abs("../../scripts/lib/cell.js")
	if err != nil {
		t.Fatal(err)
	}
	text = fmt.Sprintf("import { Client, compute } from 'k6/x/retrieval'; import { cellOptions } from '%s'; "+
		"const client = new Client(__ENV.CELL); export const options = cellOptions(__ENV.CELL);\n", lib) + text
	c.script = filepath.Join(c.dir, "mine.js")
	if err := os.WriteFile(c.script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c.does.JobsPath = filepath.Join(c.dir, "jobs.parquet")
}

// jobs returns the cell's jobs.
func (c *cell) jobs(t *testing.T) ([]records.Job, records.Window) {
	t.Helper()
	r, err := records.OpenJobs(c.does.JobsPath)
	if err != nil {
		t.Fatalf("%v\n%s", err, c.stderr.String())
	}
	var rows []records.Job
	for row, err := range r.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows, r.Window()
}

func (c *cell) lines(t *testing.T) []records.Progress {
	t.Helper()
	f, err := os.Open(c.progress)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []records.Progress
	for s := bufio.NewScanner(f); s.Scan(); {
		var p records.Progress
		if err := json.Unmarshal(s.Bytes(), &p); err != nil {
			t.Fatalf("progress line %q: %v", s.Text(), err)
		}
		lines = append(lines, p)
	}
	return lines
}

func count(rows []records.Request, o records.Outcome) (n int) {
	for _, r := range rows {
		if r.Outcome == o {
			n++
		}
	}
	return n
}

// waitFor waits until the progress file has n lines.
func (c *cell) waitFor(t *testing.T, n int) []records.Progress {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if lines := c.lines(t); len(lines) >= n {
			return lines
		}
	}
	t.Fatalf("no %d progress lines within a minute\n%s", n, c.stderr.String())
	return nil
}

// slowly serves the first half of what is asked at once, and then a KiB at a time
// until the client goes.
func slowly(http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := int64(padded / 128 * 127)
		w.Header().Set("Content-Length", fmt.Sprint(size))
		w.Write(make([]byte, size/2))
		for left := size / 2; left > 2048; left -= 1024 {
			w.Write(make([]byte, 1024))
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
}
