package result

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piecebench/records"
)

func sample() *Run {
	cpu := 0.0781
	return &Run{
		Schema: SchemaVersion, ID: "20260301T174500Z-host", Piecebench: "test",
		Started:  time.Date(2026, 3, 1, 17, 45, 0, 0, time.UTC),
		Settings: map[string]string{"CONCURRENCY": "1,10"}, Fingerprint: map[string]string{"cpu": "2"},
		Calibrations: []Calibration{{Link: "1gbit/40ms", CeilingBits: 950e6}}, Planned: 2,
		Cells: []Cell{
			{ID: 1, Target: "raw", Link: "1gbit/40ms", Mode: "1MiB", Concurrency: 10, Repetition: 1, WindowS: 10,
				RequestsOK: 300, Failed: map[records.Outcome]int{"timeout": 1, "stalled": 2, "range": 3, "odd": 4}, WindowBytes: 593_750_000,
				TTFB:        Quantiles{P50: &Quantile{Ms: 81.5}, P95: &Quantile{Ms: 12000, Bound: true}},
				CeilingBits: 950e6, GenCPUSPerGB: &cpu, LimitedBy: "link",
				Evidence: &Evidence{Wire: &Wire{Bytes: 500_000_000, Packets: 400_000, LostPackets: 100_000, Seconds: 10}}},
			{ID: 2, Target: "a,b\"c", Link: "1gbit/40ms", Mode: "full", Concurrency: 1, Repetition: 1, WindowS: 10,
				RequestsCut: 1, Failed: map[records.Outcome]int{}},
		},
	}
}

func TestSaveAndLoadKeepEverything(t *testing.T) {
	dir := t.TempDir()
	want := sample()
	for range 2 { // the second replaces the first
		if err := want.Save(dir); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 1 {
		t.Errorf("temporary files left: %v", entries)
	}
}

func TestLoadRefusesInOneLine(t *testing.T) {
	whole := func(change func(*Run)) string {
		dir := t.TempDir()
		r := sample()
		change(r)
		if err := r.Save(dir); err != nil {
			t.Fatal(err)
		}
		data, _ := os.ReadFile(filepath.Join(dir, RunFile))
		return string(data)
	}
	good := whole(func(*Run) {})
	for _, c := range []struct{ name, content, want string }{
		{"truncated", good[:len(good)/2], "truncated"},
		{"empty", "", "empty"},
		{"garbage", "\x00\x01not json", "damaged"},
		{"another program's", `{"hello": 1}`, "not written by piecebench"},
		{"newer", `{"schema": 2, "cells": "of another shape"}`, "newer piecebench"},
		{"wrong type", `{"schema": 1, "cells": 7}`, "damaged: cells cannot be a number, as it is at byte 24"},
		{"no window", whole(func(r *Run) { r.Cells[1].WindowS = 0 }), "cell 2 has a window of 0 s"},
		{"no target", whole(func(r *Run) { r.Cells[0].Target = "" }), "cell 1 (number 1 in the list) lacks"},
		{"same cell twice", whole(func(r *Run) { r.Cells[1].ID = 1 }), "cell 1 is there twice"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, RunFile), []byte(c.content), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Load(dir)
		switch {
		case err == nil:
			t.Errorf("%s: accepted", c.name)
		case !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), RunFile) || strings.Contains(err.Error(), "\n"):
			t.Errorf("%s: %q does not say %q in one line", c.name, err, c.want)
		}
	}
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "does not exist: name the folder of a run") {
		t.Errorf("a folder without a run: %v", err)
	}
}

func TestCreateNeverReusesAFolder(t *testing.T) {
	root := filepath.Join(t.TempDir(), "results")
	id := NewID(time.Date(2026, 3, 1, 18, 45, 0, 0, time.FixedZone("CET", 3600)), "sp one/α")
	if id != "20260301T174500Z-sp-one--" {
		t.Errorf("id %q", id)
	}
	dir, err := Create(root, id)
	if err != nil || dir != filepath.Join(root, id) {
		t.Fatal(dir, err)
	}
	for _, sub := range []string{"requests", "logs"} {
		if st, err := os.Stat(filepath.Join(dir, sub)); err != nil || !st.IsDir() {
			t.Errorf("no folder %s: %v", sub, err)
		}
	}
	if _, err := Create(root, id); err == nil || !strings.Contains(err.Error(), "never overwritten") {
		t.Errorf("a second run took the folder: %v", err)
	}
	for _, id := range []string{"", ".", "..", "a/b"} {
		if _, err := Create(root, id); err == nil {
			t.Errorf("Create accepted the name %q", id)
		}
	}
}

func TestCellsCSV(t *testing.T) {
	dir := t.TempDir()
	if err := WriteCellsCSV(dir, sample()); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, CellsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []map[string]string{
		// Stalls are timeouts; an outcome without a column is in requests_failed.
		{"cell": "1", "target": "raw", "link": "1gbit/40ms", "mode": "1MiB", "concurrency": "10", "repetition": "1", "window_s": "10",
			"requests_ok": "300", "requests_failed": "10", "requests_cut": "0", "success_rate": "0.967742", "goodput_mbit_s": "475", "link_share": "0.5",
			"ttfb_p50_ms": "81.5", "ttfb_p95_ms": ">12000", "failed_timeout": "3", "failed_range": "3", "generator_cpu_s_per_gb": "0.0781",
			"limited_by": "link", "delivered_mbit_s": "475", "failed_connect": "0", "wire_bytes": "625000000", "wire_overhead": "0.052632"},
		{"cell": "2", "target": "a,b\"c", "link": "1gbit/40ms", "mode": "full", "concurrency": "1", "repetition": "1", "window_s": "10",
			"requests_ok": "0", "requests_failed": "0", "requests_cut": "1", "goodput_mbit_s": "0", "delivered_mbit_s": "0",
			"failed_connect": "0", "failed_reset": "0", "failed_timeout": "0", "failed_status": "0", "failed_range": "0", "failed_short": "0", "failed_corrupt": "0"},
	} {
		got := map[string]string{}
		for n, name := range table[0] {
			if value := table[1+i][n]; want[name] != "" || value != "" && value != "0" {
				got[name] = value
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// docs/RESULTS.md promises the columns and their order.
func TestColumnsOfCellsCSVAreThoseDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/RESULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "\n`cell`, ")
	list, _, _ = strings.Cut("`cell`, "+list, "\n\n")
	var documented, written []string
	for _, m := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(list, -1) {
		documented = append(documented, m[1])
	}
	for _, c := range columns {
		written = append(written, c.name)
	}
	if diff := cmp.Diff(written, documented); diff != "" {
		t.Error("docs/RESULTS.md and cells.csv differ:", diff)
	}
}
