package main

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"piecebench/bench/result"
	"piecebench/records"
)

// Real runs: raw, again (the same server) and gateway, five repetitions.
const (
	recorded1Gbit  = "../../bench/result/testdata/identical-1gbit"
	recorded10Gbit = "../../bench/result/testdata/identical-10gbit"
)

// executed returns what a command printed and the exit code that main gives it.
func executed(cmd *cobra.Command, args ...string) (out string, code int, err error) {
	var b bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetOut(&b)
	cmd.SetErr(&b)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err = cmd.Execute()
	switch {
	case err == nil:
	case errors.As(err, &problem{}):
		code = 1
	default:
		code = 2
	}
	return b.String(), code, err
}

// savedAs writes a changed copy of a recorded run and returns its folder.
func savedAs(t *testing.T, recorded string, change func(*result.Run)) string {
	t.Helper()
	run, err := result.Load(recorded)
	if err != nil {
		t.Fatal(err)
	}
	change(run)
	dir := t.TempDir()
	if err := run.Save(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCompareExitsWithOneForARegressionThatIsShown(t *testing.T) {
	slower := func(factor float64) string {
		return savedAs(t, recorded10Gbit, func(run *result.Run) {
			for i := range run.Cells {
				run.Cells[i].WindowBytes = int64(float64(run.Cells[i].WindowBytes) * factor)
			}
		})
	}
	changed := func(change func(*result.Run)) string { return savedAs(t, recorded10Gbit, change) }
	dead := func(repetitions ...int) string {
		return changed(func(run *result.Run) {
			for i, c := range run.Cells {
				if c.Target == "gateway" && c.Mode == "1MiB" && slices.Contains(repetitions, c.Repetition) {
					run.Cells[i].WindowBytes, run.Cells[i].RequestsOK, run.Cells[i].Failed = 0, 0, map[records.Outcome]int{"connect": 900}
				}
			}
		})
	}
	limited := func(by string, factor float64) string {
		return changed(func(run *result.Run) {
			for i := range run.Cells {
				run.Cells[i].LimitedBy, run.Cells[i].WindowBytes = by, int64(float64(run.Cells[i].WindowBytes)*factor)
			}
		})
	}
	twice := changed(func(run *result.Run) {
		run.Cells = slices.DeleteFunc(run.Cells, func(c result.Cell) bool { return c.Repetition > 2 })
		run.Planned = len(run.Cells)
	})
	once := savedAs(t, recorded10Gbit, func(run *result.Run) {
		run.Cells, run.Planned = run.Cells[:3], 3
	})
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"the same run", []string{recorded10Gbit, recorded10Gbit, "--fail-beyond", "0%"}, 0, ""},
		{"the same server", []string{recorded10Gbit, "--targets", "raw,again", "--fail-beyond", "5%"}, 0, ""},
		{"much slower", []string{recorded10Gbit, slower(0.8), "--fail-beyond", "5%"}, 1, "worse by more than 5 %: goodput, raw, 1MiB, 100 clients, 10gbit/40ms: 0.800 (0.800 to 0.800)"},
		{"slower, but not beyond", []string{recorded10Gbit, slower(0.97), "--fail-beyond", "5%"}, 0, ""},
		{"much slower, not asked", []string{recorded10Gbit, slower(0.8)}, 0, ""},
		{"faster", []string{recorded10Gbit, slower(1.2), "--fail-beyond", "5%"}, 0, ""},
		{"cells are gone", []string{recorded10Gbit, savedAs(t, recorded10Gbit, func(run *result.Run) { run.Cells = run.Cells[:15] }), "--fail-beyond", "5%"}, 1,
			"missing: 20261121T061156Z-vm has 15 of 30 planned cells; raw, 10MiB, 100 clients, 10gbit/40ms: not in B"},
		{"a dead server", []string{recorded10Gbit, dead(1, 2, 3, 4, 5), "--fail-beyond", "5%"}, 1, "worse by more than 5 %: goodput, gateway, 1MiB, 100 clients, 10gbit/40ms: 0.000; success rate"},
		{"a server that is dead once", []string{recorded10Gbit, dead(3), "--fail-beyond", "5%"}, 1, "missing: gateway, 1MiB, 100 clients, 10gbit/40ms: B delivered nothing in repetition 3"},
		{"a server that was dead before", []string{dead(3), recorded10Gbit, "--fail-beyond", "5%"}, 1, "A delivered nothing in repetition 3"},
		{"nothing and nothing", []string{dead(1, 2, 3, 4, 5), dead(1, 2, 3, 4, 5), "--fail-beyond", "5%"}, 1, "A delivered nothing in repetition 1"},
		{"a dead target of one run", []string{dead(2), "--targets", "raw,gateway", "--fail-beyond", "99%"}, 1, "1MiB, 100 clients, 10gbit/40ms: gateway delivered nothing in repetition 2"},
		{"1 of 5 repetitions", []string{recorded10Gbit, changed(func(run *result.Run) {
			run.Cells = slices.DeleteFunc(run.Cells, func(c result.Cell) bool { return c.Target == "gateway" && c.Repetition > 1 })
			run.Planned = len(run.Cells)
		}), "--fail-beyond", "5%"}, 1, "missing: gateway, 1MiB, 100 clients, 10gbit/40ms: repetition 2 of B is missing; "},
		{"a target more", []string{changed(func(run *result.Run) {
			run.Cells = slices.DeleteFunc(run.Cells, func(c result.Cell) bool { return c.Target == "gateway" })
			run.Planned = len(run.Cells)
		}), recorded10Gbit, "--fail-beyond", "5%"}, 1, "missing: gateway, 1MiB, 100 clients, 10gbit/40ms: not in A"},
		{"two repetitions", []string{twice, twice, "--fail-beyond", "5%"}, 2, "no row has 3 repetitions on both sides, so no interval can show a regression: measure with REPEAT=5"},
		{"two repetitions and a dead server", []string{twice, changed(func(run *result.Run) { run.Cells[0].WindowBytes = 0 }), "--fail-beyond", "5%"}, 1, "B delivered nothing in repetition 1"},
		{"the machine limited everything", []string{limited("host", 1), limited("host", 0.5), "--fail-beyond", "5%"}, 1, "no goodput could be judged: the machine that measured limited all 6 rows"},
		{"the second run fills the machine", []string{recorded10Gbit, limited("host", 0.5), "--fail-beyond", "5%"}, 1, "worse by more than 5 %: goodput, raw, 1MiB"},
		{"margin", []string{recorded10Gbit, recorded10Gbit, "--margin", "x"}, 2, "--margin x: give a share"},
		{"one repetition", []string{once, once, "--fail-beyond", "5%"}, 2, "measure with REPEAT=5"},
		{"nothing in common", []string{recorded10Gbit, recorded1Gbit}, 2, "no row in common"},
		{"one run alone", []string{recorded10Gbit}, 2, "--targets raw,gateway"},
		{"no such target", []string{recorded10Gbit, "--targets", "raw,other"}, 2, "no cell of target other; it has: raw, again, gateway"},
		{"three targets", []string{recorded10Gbit, "--targets", "raw,again,gateway"}, 2, "does not name two targets"},
		{"no run", []string{recorded10Gbit, t.TempDir()}, 2, "name the folder of a run"},
		{"no argument", nil, 2, "the folders of two runs"},
		{"format", []string{recorded10Gbit, recorded10Gbit, "--format", "pdf"}, 2, `"pdf" is not known: use text, md or html`},
		{"share", []string{recorded10Gbit, recorded10Gbit, "--fail-beyond", "5"}, 2, "such as 5%"},
		{"share too large", []string{recorded10Gbit, recorded10Gbit, "--fail-beyond", "100%"}, 2, "less than 100%"},
	} {
		out, code, err := executed(compareCommand(), c.args...)
		if code != c.code || err != nil && (!strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: exit code %d, %v; want %d and one line with %q", c.name, code, err, c.code, c.says)
		}
		if code == 2 && !strings.Contains(c.says, "REPEAT") && out != "" {
			t.Errorf("%s: bad input, and yet it printed %q", c.name, out)
		}
	}
}

func TestTheMarginDecidesWhatIsNoDifference(t *testing.T) {
	for margin, want := range map[string]string{"5%": "no difference beyond 5 % in 2 of 2 rows", "2%": "no difference beyond 2 % in 1, unclear in 1 of 2 rows"} {
		if out, code, err := executed(compareCommand(), recorded10Gbit, "--targets", "raw,gateway", "--margin", margin); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: %d, %v, %.200q; want %q", margin, code, err, out, want)
		}
	}
}

func TestCompareWritesEveryFormat(t *testing.T) {
	for format, want := range map[string]string{"text": "again against raw", "md": "# piecebench compare", "html": "<!DOCTYPE html>"} {
		out, code, err := executed(compareCommand(), recorded1Gbit, "--targets", "raw,again", "--format", format)
		if code != 0 || !strings.HasPrefix(strings.TrimSpace(out), want) || !strings.Contains(out, "1gbit/40ms") {
			t.Errorf("%s: %d, %v, %.80q", format, code, err, out)
		}
	}
}
