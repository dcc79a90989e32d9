package retrieval_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"piecebench/records"
)

// checkPoints compares what k6's outputs were given with the records.
func (c *cell) checkPoints(t *testing.T, rows []records.Request, bodyBytes int64) {
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
	ok := count(rows, records.OK)
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

func TestLongDownloadsAreSeenWhileTheyRun(t *testing.T) {
	c := newCell(t, slowly)
	c.does.Length, c.does.Duration, c.does.Verify = 0, 3*time.Second, 0
	c.run(t)
	rows, _ := c.rows(t)
	if len(rows) != 5 || count(rows, records.Cut) != 5 {
		t.Fatalf("%d rows, %d cut; want 5", len(rows), count(rows, records.Cut))
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

func TestK6TellsWhatItUsesItself(t *testing.T) {
	c := newCell(t, nil)
	cmd := c.command(t)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, c.stderr.String())
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	var cpu, memory float64
	for _, p := range c.readPoints(t) {
		switch p.Metric {
		case "process_cpu_seconds":
			cpu += p.Data.Value
			if p.Data.Tags["target"] != "raw" {
				t.Errorf("tags %v", p.Data.Tags)
			}
		case "process_resident_memory_bytes":
			memory = p.Data.Value
		}
	}
	const ticks = 0.02 // /proc counts user and system time in hundredths
	if cpu <= 0 || cpu > used.Seconds()+ticks {
		t.Errorf("process_cpu_seconds %.2f, the kernel charged %.2f", cpu, used.Seconds())
	}
	if memory < 10e6 {
		t.Errorf("process_resident_memory_bytes %.0f", memory)
	}
}
