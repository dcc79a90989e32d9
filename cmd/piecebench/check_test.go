package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"piecebench/bench/result"
)

func TestCheckExitsWithOneForALimitThatDoesNotHold(t *testing.T) {
	limits := func(text string) string {
		path := filepath.Join(t.TempDir(), "limits.yaml")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	hostLimited := func(which func(result.Cell) bool) string {
		return savedAs(t, recorded10Gbit, func(run *result.Run) {
			for i, c := range run.Cells {
				if which(c) {
					run.Cells[i].LimitedBy = "host"
				}
			}
		})
	}
	for _, c := range []struct {
		name   string
		args   []string
		code   int
		prints string // on standard output
		says   string // as the error
	}{
		{"holds", []string{"--slo", limits("- {success_rate: 99.9%, link_share: 95%}"), recorded10Gbit}, 0, "all 60 limits hold in 20261121T061156Z-vm", ""},
		{"does not", []string{"--slo", limits("- {target: gateway, mode: 1MiB, ttfb_p95: 60ms}"), recorded10Gbit}, 1,
			"line 1: gateway, 1MiB, 100 clients, 10gbit/40ms, repetition 1: TTFB p95 is 73.71ms; it must be at most 60ms", "3 of 5 limits do not hold"},
		{"the machine decided some", []string{"--slo", limits("- {success_rate: 99.9%, link_share: 95%}"), hostLimited(func(c result.Cell) bool { return c.Repetition == 2 })}, 0,
			"all 54 limits hold in 20261121T061156Z-vm; 6 could not be judged, because the machine that measured decided them", ""},
		{"the machine decided all", []string{"--slo", limits("- {link_share: 1%}"), hostLimited(func(result.Cell) bool { return true })}, 1,
			"line 1: link share could not be judged in any cell that this rule selects", "1 of 1 limits do not hold in 20261121T061156Z-vm; 30 could not be judged"},
		{"unknown key", []string{"--slo", limits("- {goodput: 3}"), recorded10Gbit}, 2, "", "line 1: field goodput not found"},
		{"no file", []string{recorded10Gbit}, 2, "", "--slo FILE"},
		{"no run", []string{"--slo", limits("- {ttfb_p95: 1s}"), t.TempDir()}, 2, "", "name the folder of a run"},
		{"no argument", []string{"--slo", "x"}, 2, "", "one argument"},
	} {
		out, code, err := executed(checkCommand(), c.args...)
		if code != c.code || !strings.Contains(out, c.prints) || (err == nil) != (c.code == 0) || err != nil && (!strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: exit code %d, %v, printed %q; want %d, %q and %q", c.name, code, err, out, c.code, c.prints, c.says)
		}
	}
}

// The example in the command's help is one that is read; its second rule is
// for another link.
func TestTheExampleOfCheckIsRead(t *testing.T) {
	help := checkCommand().Long
	start := strings.Index(help, "  - target")
	end := strings.LastIndex(help, "\n\n")
	path := filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(path, []byte(help[start:end]), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, code, err := executed(checkCommand(), "--slo", path, recorded10Gbit); code != 1 || !strings.Contains(out, "line 8: this rule selects no cell") {
		t.Errorf("%d, %v, %q", code, err, out)
	}
}
