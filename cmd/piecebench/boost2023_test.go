package main_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"piecebench/bench/result"
	"piecebench/lab/labtest"
)

// TestBoost2023 runs the profile against servers on loopback, with fewer
// clients: its cells end with their requests, not with the 30 minutes they may
// last.
func TestBoost2023(t *testing.T) {
	data := labtest.Dataset(t)
	server := httptest.NewServer(http.StripPrefix("/piece/", http.FileServer(http.Dir(filepath.Join(data, "flat")))))
	defer server.Close()
	p := newProgram(t, "k6")
	url := server.URL + "/piece/{piece}"
	sweep := []string{"run", "--profile", "boost-2023", "--links", "none", "--modes", "full,1MiB", "--concurrency", "20,/full:1,4",
		"--targets", "one=" + url + ",two=" + url, "--manifest", filepath.Join(data, "pieces.json")}
	must := func(args ...string) string {
		t.Helper()
		stdout, stderr, code := p.run(args...)
		if code != 0 {
			t.Fatalf("%s: exit code %d\n%s%s", args[0], code, stdout, stderr)
		}
		return stdout
	}
	must(append(sweep, "--out", "results/x")...)

	folder := filepath.Join(p.dir, "results", "x")
	cells := rows(t, filepath.Join(folder, "cells.csv"))
	var got []string
	for _, c := range cells {
		got = append(got, strings.Join([]string{c["target"], c["mode"], c["concurrency"], c["requests_ok"], c["requests_failed"], c["requests_cut"]}, " "))
		if window, err := strconv.ParseFloat(c["window_s"], 64); err != nil || window <= 0 || window > 60 {
			t.Errorf("cell %s took %s s: its window did not end with its last request", c["cell"], c["window_s"])
		}
	}
	want := "one full 1 1 0 0, two full 1 1 0 0, one full 4 4 0 0, two full 4 4 0 0, one 1MiB 20 20 0 0, two 1MiB 20 20 0 0"
	if all := strings.Join(got, ", "); all != want {
		t.Errorf("cells %s\nwant  %s", all, want)
	}

	path := filepath.Join(p.dir, strings.TrimSpace(must("report", "--format", "boost-2023", "results/x")))
	table, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"| one      | full-fetch           |           1 |", "| two      | range-requests 1 MiB |          20 |"} {
		if !strings.Contains(string(table), row) {
			t.Errorf("no row %q in\n%s", row, table)
		}
	}

	// A run that lost its last cell gets that one, and no other, measured again.
	run, err := result.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	lost := run.Cells[5]
	run.Cells = run.Cells[:5]
	if err := run.Save(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(folder, lost.Records)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RESUME", "results/x")
	must(sweep...)
	again, err := result.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Cells) != 6 || !again.Cells[4].WindowStart.Equal(run.Cells[4].WindowStart) || again.Cells[5].WindowStart.Equal(lost.WindowStart) {
		t.Errorf("%d cells after resuming; want the first 5 kept and the last measured again", len(again.Cells))
	}
	compared := strings.Join(strings.Fields(must("compare", "results/x", "--targets", "one,two")), " ")
	if !strings.Contains(compared, "1MiB 20 100 % 100 %") {
		t.Errorf("compare shows no success rates of the ranges: %s", compared)
	}
}
