package report_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"piecebench/bench/result"
	"piecebench/records"
)

// go test ./report -run Golden -update writes them anew.
var update = flag.Bool("update", false, "write the golden files anew")

func loaded(t *testing.T, dir string) *result.Run {
	t.Helper()
	run, err := result.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// The tables of recorded runs: a default sweep (on 2 cores; without its goodput
// over time), and one of three targets with repetitions, where not all columns
// have room.
func TestTerminalTablesAreGolden(t *testing.T) {
	sweep := loaded(t, "testdata/sweep")
	sweep.Settings["PRICE_EGRESS"], sweep.Settings["PRICE_SERVER_HOUR"] = "0.02", "1.536"
	repeated := loaded(t, "../bench/result/testdata/identical-1gbit")
	for name, text := range map[string]string{
		"sweep-80": textOf(sweep, 80), "sweep-120": textOf(sweep, 120),
		"repeated-80": textOf(repeated, 80), "repeated-120": textOf(repeated, 120),
	} {
		_, tables, found := strings.Cut(text, "\n\n")
		if !found {
			t.Fatalf("%s has no tables:\n%s", name, text)
		}
		path := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(path, []byte(tables), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), tables); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

func TestTerminalTextKeepsToItsWidth(t *testing.T) {
	run := synthetic(defaultSweep)
	bad := &run.Cells[3]
	bad.Failed, bad.FirstErrors = map[records.Outcome]int{"status": 3}, []string{"status: " + strings.Repeat("words of a server ", 20)}
	for _, width := range []int{80, 100, 120} {
		text := textOf(run, width)
		for _, line := range strings.Split(text, "\n") {
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("%d columns: a line has %d: %q", width, n, line)
			}
			if strings.ContainsAny(line, "\x1b\t") || strings.HasSuffix(line, " ") {
				t.Errorf("colours, tabs or blanks at the end: %q", line)
			}
		}
		if !strings.HasPrefix(text, "Requests that failed: raw none, gateway ") {
			t.Errorf("the answer does not come first: %q", text[:40])
		}
	}
}
