package retrieval_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"piecebench/k6/internal/testset"
	"piecebench/k6/x/retrieval/draw"
	"piecebench/k6/x/retrieval/record"
	"piecebench/piece"
)

// k6 is the binary under test, built once.
var k6 string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "k6-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	k6 = filepath.Join(dir, "k6")
	build := exec.Command("go", "build", "-o", k6, "piecebench/k6")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "go build:", err)
		os.Exit(2)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// cell is one run of scripts/retrieval.js against a server.
type cell struct {
	dir, records, progress, points string
	manifest                       *piece.Manifest
	env                            map[string]string
	stderr                         bytes.Buffer
}

const padded = 1 << 20 // of the test pieces

// newCell makes a dataset and a server that serve wraps.
func newCell(t *testing.T, serve func(files http.Handler) http.Handler) *cell {
	t.Helper()
	dir := t.TempDir()
	path, m := testset.Write(t, dir, 3, padded)
	files := http.StripPrefix("/piece/", http.FileServer(http.Dir(filepath.Join(dir, "flat"))))
	if serve != nil {
		files = serve(files)
	}
	srv := httptest.NewServer(files)
	t.Cleanup(srv.Close)
	t.Cleanup(srv.CloseClientConnections)
	c := &cell{
		dir: dir, manifest: m,
		records: filepath.Join(dir, "cell.parquet"), progress: filepath.Join(dir, "cell.jsonl"), points: filepath.Join(dir, "points.json"),
	}
	c.env = map[string]string{
		"URL": srv.URL + "/piece/{piece}", "MANIFEST": path, "MODE": "64KiB", "CONCURRENCY": "5",
		"WARMUP": "500ms", "DURATION": "1s", "RECORDS": c.records, "PROGRESS": c.progress, "VERIFY": "1",
		"RUN": "r1", "TARGET": "raw", "LINK": "none", "REPETITION": "2",
	}
	return c
}

func (c *cell) command(t *testing.T) *exec.Cmd {
	t.Helper()
	args := []string{"run", "--quiet", "--summary-mode=disabled", "--no-thresholds", "--no-usage-report", "--address", "",
		"--out", "json=" + c.points, "../../scripts/retrieval.js"}
	cmd := exec.Command(k6, args...)
	cmd.Stderr = &c.stderr
	cmd.Env = os.Environ()
	for k, v := range c.env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	return cmd
}

func (c *cell) run(t *testing.T) {
	t.Helper()
	if err := c.command(t).Run(); err != nil {
		t.Fatalf("%v\n%s", err, c.stderr.String())
	}
}

func (c *cell) rows(t *testing.T) ([]record.Request, *record.Reader) {
	t.Helper()
	r, err := record.Open(c.records)
	if err != nil {
		t.Fatalf("%v\n%s", err, c.stderr.String())
	}
	var rows []record.Request
	for row, err := range r.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows, r
}

func (c *cell) lines(t *testing.T) []record.Progress {
	t.Helper()
	f, err := os.Open(c.progress)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []record.Progress
	for s := bufio.NewScanner(f); s.Scan(); {
		var p record.Progress
		if err := json.Unmarshal(s.Bytes(), &p); err != nil {
			t.Fatalf("progress line %q: %v", s.Text(), err)
		}
		lines = append(lines, p)
	}
	return lines
}

func count(rows []record.Request, o record.Outcome) (n int) {
	for _, r := range rows {
		if r.Outcome == string(o) {
			n++
		}
	}
	return n
}

func TestEveryRequestIsRecorded(t *testing.T) {
	c := newCell(t, nil)
	c.run(t)
	rows, r := c.rows(t)
	win := r.Window()
	if !r.Complete() || win.EndNs-win.StartNs != int64(time.Second) {
		t.Errorf("complete %v, window %d ns", r.Complete(), win.EndNs-win.StartNs)
	}
	var bytesAll int64
	sizes := make([]int64, len(c.manifest.Pieces))
	for i, p := range c.manifest.Pieces {
		sizes[i] = p.UnpaddedSize()
	}
	byClient := make(map[int32][]record.Request)
	for _, row := range rows {
		bytesAll += row.Bytes
		byClient[row.Client] = append(byClient[row.Client], row)
		end := row.StartUnixNs + row.DurationNs
		switch {
		case row.Outcome == "ok" && (row.Bytes != row.Length || !row.Verified || row.Status != 206 || row.TTFBNs <= 0 || row.HTTP != "HTTP/1.1"):
			t.Fatalf("ok with %+v", row)
		case row.Outcome != "ok" && row.Outcome != "cut":
			t.Fatalf("%+v", row)
		case row.WindowBytes > row.Bytes,
			end < win.StartNs && row.WindowBytes != 0,
			row.StartUnixNs > win.StartNs && end < win.EndNs && row.WindowBytes != row.Bytes:
			t.Fatalf("window %+v, but %+v", win, row)
		}
	}
	if cut := count(rows, record.Cut); cut > 5 {
		t.Errorf("%d cut requests of 5 clients", cut)
	}
	// Each client asks for its part of the seeded sequence, in order.
	if len(byClient) != 5 {
		t.Errorf("%d clients, want 5", len(byClient))
	}
	for client, got := range byClient {
		slices.SortFunc(got, func(a, b record.Request) int { return int(a.StartUnixNs - b.StartUnixNs) })
		want := draw.New(1, uint64(client), sizes, 64<<10)
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
		last.OK != int64(count(rows, record.OK)) || last.Cut != int64(count(rows, record.Cut)) || last.Failed != 0 {
		t.Errorf("last progress line %+v, but %d rows with %d bytes", last, len(rows), bytesAll)
	}
	if first := lines[0]; first.Bytes != 0 || first.Done || len(lines) < 3 {
		t.Errorf("%d progress lines, the first %+v", len(lines), first)
	}
	c.checkPoints(t, rows, bytesAll)
}

// checkPoints compares what k6's outputs were given with the records.
func (c *cell) checkPoints(t *testing.T, rows []record.Request, bodyBytes int64) {
	t.Helper()
	sum, n := make(map[string]float64), make(map[string]int)
	known := []string{"run", "target", "link", "mode", "concurrency", "repetition", "status", "expected_response", "outcome"}
	for _, p := range c.readPoints(t) {
		sum[p.Metric] += p.Data.Value
		n[p.Metric]++
		for tag := range p.Data.Tags {
			if !slices.Contains(known, tag) {
				t.Fatalf("%s has tag %s", p.Metric, tag)
			}
		}
		if p.Metric == "http_reqs" && (p.Data.Tags["outcome"] != "ok" || p.Data.Tags["target"] != "raw" || p.Data.Tags["mode"] != "64KiB" || p.Data.Tags["status"] != "206") {
			t.Fatalf("tags %v", p.Data.Tags)
		}
	}
	ok := count(rows, record.OK)
	for _, m := range []string{"http_reqs", "http_req_duration", "http_req_waiting", "http_req_connecting", "http_req_tls_handshaking",
		"http_req_sending", "http_req_receiving", "http_req_blocked", "http_req_failed"} {
		if n[m] != ok {
			t.Errorf("%d samples of %s, want %d", n[m], m, ok)
		}
	}
	// Heads are received too, 150 to 400 bytes each.
	if got := sum["data_received"]; got < float64(bodyBytes+100*int64(ok)) || got > float64(bodyBytes+500*int64(len(rows))) {
		t.Errorf("data_received %.0f, with %d body bytes of %d requests", got, bodyBytes, len(rows))
	}
}

type point struct {
	Type, Metric string
	Data         struct {
		Time  time.Time
		Value float64
		Tags  map[string]string
	}
}

func (c *cell) readPoints(t *testing.T) (points []point) {
	t.Helper()
	f, err := os.Open(c.points)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for dec := json.NewDecoder(f); ; {
		var p point
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return points
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Type == "Point" {
			points = append(points, p)
		}
	}
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

func TestLongDownloadsAreSeenWhileTheyRun(t *testing.T) {
	c := newCell(t, slowly)
	c.env["MODE"], c.env["DURATION"], c.env["VERIFY"] = "full", "3s", "0"
	c.run(t)
	rows, _ := c.rows(t)
	if len(rows) != 5 || count(rows, record.Cut) != 5 {
		t.Fatalf("%d rows, %d cut; want 5", len(rows), count(rows, record.Cut))
	}
	received, times := 0.0, make(map[time.Time]bool)
	for _, p := range c.readPoints(t) {
		if p.Metric == "data_received" && p.Data.Value > 0 {
			received += p.Data.Value
			times[p.Data.Time] = true
		}
	}
	var body int64
	for _, row := range rows {
		body += row.Bytes
		if row.Bytes < padded/2-1<<14 || row.WindowBytes == 0 || row.WindowBytes >= row.Bytes {
			t.Errorf("%d bytes, %d in the window", row.Bytes, row.WindowBytes)
		}
	}
	if len(times) < 3 || received < float64(body) {
		t.Errorf("data_received at %d times, %.0f in all, with %d body bytes", len(times), received, body)
	}
	lines := c.lines(t)
	if len(lines) < 5 || lines[3].Active != 5 || lines[3].Bytes <= lines[2].Bytes {
		t.Errorf("progress: %+v", lines)
	}
}

// waitFor waits until the progress file has n lines.
func (c *cell) waitFor(t *testing.T, n int) []record.Progress {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if lines := c.lines(t); len(lines) >= n {
			return lines
		}
	}
	t.Fatalf("no %d progress lines within a minute\n%s", n, c.stderr.String())
	return nil
}

func TestKilledProcessLosesAtMostASecond(t *testing.T) {
	c := newCell(t, nil)
	c.env["DURATION"] = "1m"
	cmd := c.command(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := c.waitFor(t, 4)
	cmd.Process.Kill()
	cmd.Wait()
	// A flush follows each line, before the next: all up to the last but one is on disk.
	safe := lines[len(lines)-2]
	rows, r := c.rows(t)
	if r.Complete() || safe.OK == 0 || int64(len(rows)) < safe.OK+safe.Failed {
		t.Errorf("complete %v, %d rows, but the progress line before the last says %+v", r.Complete(), len(rows), safe)
	}
	if w := r.Window(); w.EndNs-w.StartNs != int64(time.Minute) || w.StartNs != safe.WindowStart {
		t.Errorf("window %+v", w)
	}
	if err := record.Recover(c.records); err != nil {
		t.Fatal(err)
	}
	if again, r := c.rows(t); !r.Complete() || len(again) != len(rows) {
		t.Errorf("recovered %d rows of %d", len(again), len(rows))
	}
}

func TestSignalsCutAndComplete(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		c := newCell(t, slowly)
		c.env["MODE"], c.env["DURATION"] = "full", "1m"
		c.env["VERIFY"] = "0"
		cmd := c.command(t)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		c.waitFor(t, 3)
		cmd.Process.Signal(sig)
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 105 {
			t.Errorf("%s: %v\n%s", sig, err, c.stderr.String())
		}
		rows, r := c.rows(t)
		if !r.Complete() || len(rows) != 5 || count(rows, record.Cut) != 5 {
			t.Errorf("%s: complete %v, %d rows, %d cut; want 5", sig, r.Complete(), len(rows), count(rows, record.Cut))
		}
		if lines := c.lines(t); !lines[len(lines)-1].Done {
			t.Errorf("%s: the last progress line is not done", sig)
		}
	}
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
	bad := count(rows, record.Corrupt)
	if bad < 10 || count(rows, record.OK) != 0 {
		t.Fatalf("%d corrupt, %d ok", bad, count(rows, record.OK))
	}
	for _, row := range rows {
		want := fmt.Sprintf("piece %s: byte %d is", row.Piece, row.Offset+row.Length-1)
		if row.Outcome == "corrupt" && !strings.Contains(row.Error, want) {
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

func TestBadInputIsRefusedBeforeAnythingIsMade(t *testing.T) {
	good := newCell(t, nil)
	manifest := good.env["MANIFEST"]
	broken := filepath.Join(good.dir, "broken.json")
	if err := os.WriteFile(broken, []byte(`{"version":1,`), 0o644); err != nil {
		t.Fatal(err)
	}
	for text, env := range map[string]string{
		"a range of 1MiB is larger than piece baga": "MODE=1MiB",
		"want full or a size such as 1MiB":          "MODE=big",
		"no {piece} in it":                          "URL=http://127.0.0.1:1/x",
		"want http://host":                          "URL=ftp://127.0.0.1/{piece}",
		"url and manifest are required":             "URL=",
		"no such file":                              "MANIFEST=/nonexistent/pieces.json",
		"manifest " + broken:                        "MANIFEST=" + broken,
		"want a share from 0 to 1":                  "VERIFY=2",
		"want reuse or fresh":                       "CONNECTIONS=new",
		"want a duration":                           "STALL=soon",
		"exists already":                            "RECORDS=" + manifest,
	} {
		c := &cell{env: map[string]string{}, dir: good.dir, points: good.points}
		for k, v := range good.env {
			c.env[k] = v
		}
		k, v, _ := strings.Cut(env, "=")
		c.env[k] = v
		err := c.command(t).Run()
		if err == nil || !strings.Contains(c.stderr.String(), text) {
			t.Errorf("%s: %v, %q; want %q", env, err, c.stderr.String(), text)
		}
		for _, path := range []string{good.records, good.records + ".parts", good.progress} {
			if _, err := os.Stat(path); err == nil {
				t.Errorf("%s left %s behind", env, filepath.Base(path))
			}
		}
	}
}
