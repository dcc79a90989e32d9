package report_test

import (
	"strings"
	"testing"

	"piecebench/bench/result"
)

func TestAVerdictShowsTheFiguresThatDecidedIt(t *testing.T) {
	c := cell("raw", "full", 1, 100)
	c.LimitedBy, c.Because = "server", "the server's own figures"
	wants(t, htmlOf(t, runOf(c)), `title="the server&#39;s own figures">server</td>`)
}

func TestDriftOfACeilingIsSaid(t *testing.T) {
	run := runOf(cell("raw", "full", 1, 100))
	run.Calibrations[0].CeilingBits, run.Calibrations[0].CeilingAfterBits = 1000e6, 960e6
	run.Generator = &result.Generator{CeilingBits: 20e9, CeilingAfterBits: 18e9}
	text := textOf(run, 1000)
	wants(t, text, "drift: The generator’s ceiling was measured as 20000 Mbit/s before the sweep and 18000 after it (-10 %)")
	if n := strings.Count(text, "drift:"); n != 1 {
		t.Errorf("%d ceilings drifted, and 4 %% is within the tolerance:\n%s", n, text)
	}
	run.Generator.CeilingAfterBits = 0 // interrupted
	if strings.Contains(textOf(run, 1000), "drift:") {
		t.Error("a ceiling that was not measured again has drifted")
	}
}

func TestALateEmulatorIsSaidWhateverTheVerdict(t *testing.T) {
	c := cell("raw", "1MiB", 1000, 100)
	c.LimitedBy, c.Evidence = "host", &result.Evidence{Emulator: &result.Emulator{Late: 0.7}}
	wants(t, textOf(runOf(c), 1000), "late: In 1 of 1 cell", "raw, 1MiB, 1000 clients, 1gbit/40ms (70 % of the packets)")
}
