package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"piecebench/bench/result"
)

func TestReportCommand(t *testing.T) {
	dir := t.TempDir()
	run := &result.Run{Schema: result.SchemaVersion, ID: "x", Started: time.Unix(0, 0), Planned: 1, Cells: []result.Cell{{
		ID: 1, Target: "mine", Link: "none", Mode: "full", Concurrency: 1, Repetition: 1, WindowS: 1, RequestsOK: 1, WindowBytes: 1e6}}}
	if err := run.Save(dir); err != nil {
		t.Fatal(err)
	}
	execute := func(args ...string) (string, error) {
		cmd := reportCommand()
		var out bytes.Buffer
		cmd.SetArgs(args)
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		err := cmd.Execute()
		return out.String(), err
	}
	out, err := execute(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"report.html", "report.md"} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil || !strings.Contains(out, path+"\n") {
			t.Errorf("%s: %v; printed %q", name, err, out)
		}
	}
	if out, err := execute(dir, "--format", "text"); err != nil || !strings.Contains(out, "mine delivered 8.00 Mbit/s") {
		t.Errorf("text: %v, %q", err, out)
	}
	// 1 TB takes 10^6 s at 8 Mbit/s.
	t.Setenv("PRICE_EGRESS", "0.02")
	for want, args := range map[string][]string{
		"mine    120.0 (full, 1 client)": {"--price-server-hour=0.36"},
		"mine    20.00\n":                nil,
		"mine    100.0 (full, 1 client)": {"--price-server-hour=0.36", "--price-egress=0"},
	} {
		if out, err := execute(append([]string{dir, "--format", "text"}, args...)...); err != nil || !strings.Contains(out, want) {
			t.Errorf("%q: %v, %q; want %q", args, err, out, want)
		}
	}
	for want, args := range map[string][]string{
		"PRICE_EGRESS=-1: want a price":         {dir, "--price-egress=-1"},
		"PRICE_SERVER_HOUR=cheap: want a price": {dir, "--price-server-hour=cheap"},
		"one argument":                          {},
		"name the folder":                       {t.TempDir()},
		`format "pdf"`:                          {dir, "--format", "pdf"},
		"unknown flag: --verbose":               {dir, "--verbose"},
	} {
		if _, err := execute(args...); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("report %q: %v, want one line with %q", args, err, want)
		}
	}
}
