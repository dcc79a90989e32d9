package report_test

import (
	"fmt"
	"html"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piecebench/bench/result"
	"piecebench/records"
	"piecebench/report/export"
)

const ms = int64(1e6)

// download is a request for 10 MiB that starts with the window, connects in
// 40 ms, and has its first byte and its end so many milliseconds after that.
func download(ttfb, transfer int64, outcome records.Outcome) records.Request {
	return records.Request{StartUnixNs: 1000 * ms, ConnectNs: 40 * ms, TTFBNs: ttfb * ms, DurationNs: (40 + transfer) * ms,
		Length: 10 << 20, Bytes: 10 << 20, WindowBytes: 10 << 20, Outcome: outcome}
}

// measured writes the records of a cell whose window is from 1 s to 61 s, and
// returns the cell as a run keeps it.
func measured(t *testing.T, dir string, c result.Cell, requests ...records.Request) result.Cell {
	t.Helper()
	c.Link = "none"
	c.Records = fmt.Sprintf("%d.parquet", c.ID)
	path := filepath.Join(dir, c.Records)
	w, err := records.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		w.Add(&r)
	}
	if err := w.Close(records.Window{StartNs: 1000 * ms, EndNs: 61_000 * ms}); err != nil {
		t.Fatal(err)
	}
	records, err := records.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := result.Summarise(records.Rows(), records.Window(), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// boost2023Rows returns the table's rows, a list of cells each.
func boost2023Rows(t *testing.T, dir string, cells ...result.Cell) [][]string {
	t.Helper()
	text, err := export.Boost2023.Run(dir, &result.Run{ID: "x", Planned: len(cells), Cells: cells})
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(html.UnescapeString(string(text))) {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| -") {
			continue
		}
		fields := strings.Split(strings.Trim(line, "|\n"), "|")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		rows = append(rows, fields)
	}
	return rows
}

func TestBoost2023OfKnownRequests(t *testing.T) {
	dir := t.TempDir()
	figure := func(v float64) *float64 { return &v }
	refused := records.Request{StartUnixNs: 1000 * ms, DurationNs: 5 * ms, Length: 10 << 20, Outcome: records.Connect}
	got := boost2023Rows(t, dir,
		measured(t, dir, result.Cell{ID: 1, Target: "raw", Mode: "10MiB", Concurrency: 2, Repetition: 1, ServerCPUSPerGB: figure(0.2), ServerRSSMB: figure(120)},
			download(10, 1000, records.OK), download(20, 2000, records.OK)),
		measured(t, dir, result.Cell{ID: 2, Target: "gateway", Mode: "10MiB", Concurrency: 2, Repetition: 1},
			download(10, 1000, records.OK), download(50, 59_960, records.Cut), refused),
		measured(t, dir, result.Cell{ID: 3, Target: "raw", Mode: "10MiB", Concurrency: 2, Repetition: 2, ServerCPUSPerGB: figure(0.4), ServerRSSMB: figure(100)},
			download(30, 2500, records.OK), download(40, 5000, records.OK)),
		measured(t, dir, result.Cell{ID: 4, Target: "raw", Mode: "full", Concurrency: 64, Repetition: 1}, refused),
	)
	want := [][]string{
		{"Protocol", "Scenario", "Concurrency",
			"Latency Avg (ms)", "Latency Min (ms)", "Latency Med (ms)", "Latency Max (ms)", "Latency P(90) (ms)", "Latency P(95) (ms)",
			"Bandwidth (MiB/s) Avg", "Bandwidth (MiB/s) Min", "Bandwidth (MiB/s) Med", "Bandwidth (MiB/s) Max", "Bandwidth (MiB/s) P(90)", "Bandwidth (MiB/s) P(95)",
			"Success Rate", "CPU (s/GB)", "Memory (MB)"},
		{"raw", "full-fetch", "64", "–", "–", "–", "–", "–", "–", "–", "–", "–", "–", "–", "–", "0 %", "–", "–"},
		// Both repetitions: 10, 5, 4 and 2 MiB/s.
		{"raw", "range-requests 10 MiB", "2", "25.0", "10.0", "20.0", "40.0", "40.0", "40.0",
			"5.25", "2.00", "5.00", "10.0", "10.0", "10.0", "100 %", "0.30", "120"},
		// The refused one has no latency and no bandwidth. Half of the others ended; the other
		// half is slower than 10 MiB a minute.
		{"gateway", "range-requests 10 MiB", "2", "30.0", "10.0", "10.0", "50.0", "50.0", "50.0",
			"< 5.08", "< 0.17", "10.0", "10.0", "10.0", "10.0", "50.0 % (1 cut)", "–", "–"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBoost2023HasTheStudysOrder(t *testing.T) {
	dir := t.TempDir()
	var cells []result.Cell
	for _, mode := range []string{"1MiB", "10MiB", "full"} {
		for _, clients := range []int{10, 100} {
			for _, target := range []string{"gateway", "raw"} {
				c := result.Cell{ID: len(cells) + 1, Target: target, Mode: mode, Concurrency: clients, Repetition: 1}
				cells = append(cells, measured(t, dir, c, download(10, 1000, records.OK)))
			}
		}
	}
	var got []string
	for _, row := range boost2023Rows(t, dir, cells...)[1:] {
		got = append(got, strings.Join(row[:3], " "))
	}
	want := []string{
		"raw full-fetch 10", "gateway full-fetch 10", "raw full-fetch 100", "gateway full-fetch 100",
		"raw range-requests 1 MiB 10", "gateway range-requests 1 MiB 10", "raw range-requests 10 MiB 10", "gateway range-requests 10 MiB 10",
		"raw range-requests 1 MiB 100", "gateway range-requests 1 MiB 100", "raw range-requests 10 MiB 100", "gateway range-requests 10 MiB 100",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBoost2023NeedsTheRecords(t *testing.T) {
	for records, want := range map[string]string{"": "cell 7 of the run names no records", "../other.parquet": "cell 7 of the run names no records", "requests/gone.parquet": "gone.parquet"} {
		run := &result.Run{Cells: []result.Cell{{ID: 7, Target: "raw", Link: "none", Mode: "full", Concurrency: 1, WindowS: 1, Records: records}}}
		_, err := export.Boost2023.Run(t.TempDir(), run)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("records %q: %v; want one line with %q", records, err, want)
		}
	}
}
