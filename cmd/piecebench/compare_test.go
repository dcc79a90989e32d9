package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"piecebench/bench/result"
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
	once := savedAs(t, recorded10Gbit, func(run *result.Run) {
		run.Cells = run.Cells[:3]
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
		{"cells are gone", []string{recorded10Gbit, savedAs(t, recorded10Gbit, func(run *result.Run) { run.Cells = run.Cells[:15] }), "--fail-beyond", "5%"}, 1, "3 cells of the first are not in the second"},
		{"one repetition", []string{once, once, "--fail-beyond", "5%"}, 2, "measure with REPEAT=5"},
		{"nothing in common", []string{recorded10Gbit, recorded1Gbit}, 2, "no cell in common"},
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

func TestCompareWritesEveryFormat(t *testing.T) {
	for format, want := range map[string]string{"text": "again against raw", "md": "# piecebench compare", "html": "<!DOCTYPE html>"} {
		out, code, err := executed(compareCommand(), recorded1Gbit, "--targets", "raw,again", "--format", format)
		if code != 0 || !strings.HasPrefix(strings.TrimSpace(out), want) || !strings.Contains(out, "1gbit/40ms") {
			t.Errorf("%s: %d, %v, %.80q", format, code, err, out)
		}
	}
}
