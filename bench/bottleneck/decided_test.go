package bottleneck_test

import (
	"testing"

	"piecebench/bench/bottleneck"
	"piecebench/bench/result"
	"piecebench/records"
)

func TestWhatTheMachineDecidedIsNoFindingAboutAServer(t *testing.T) {
	for by, want := range map[string]bool{
		bottleneck.Host: true, bottleneck.Generator: true, bottleneck.Emulator: true,
		bottleneck.Link: false, bottleneck.Latency: false, bottleneck.Server: false, bottleneck.ServerCPU: false, "": false,
	} {
		c := result.Cell{LimitedBy: by, RequestsOK: 100, WindowBytes: 1}
		if bottleneck.DecidedByMachine(c) != want || bottleneck.TimesDecidedByMachine(c) != want {
			t.Errorf("limited by %q: decided by the machine is %v", by, !want)
		}
		c.Evidence = &result.Evidence{Emulator: &result.Emulator{Late: bottleneck.LateShare}}
		if bottleneck.DecidedByMachine(c) != want || !bottleneck.TimesDecidedByMachine(c) {
			t.Errorf("limited by %q with a late delay line: times are not the machine's, or goodput is", by)
		}
	}
}

// A generator that spins on refused connections is full of the server's errors.
func TestADeadServerIsNotExcusedByTheMachine(t *testing.T) {
	for _, by := range []string{bottleneck.Host, bottleneck.Generator} {
		for _, c := range []result.Cell{
			{Failed: map[records.Outcome]int{"connect": 9000}},
			{RequestsOK: 100, WindowBytes: 1, Failed: map[records.Outcome]int{"status": 100}},
			{RequestsOK: 100, Failed: map[records.Outcome]int{"corrupt": 1}},
		} {
			if c.LimitedBy = by; bottleneck.DecidedByMachine(c) {
				t.Errorf("limited by %s, %d ok, %v: decided by the machine", by, c.RequestsOK, c.Failed)
			}
		}
		few := result.Cell{LimitedBy: by, RequestsOK: 100, WindowBytes: 1, Failed: map[records.Outcome]int{"reset": 3}}
		if !bottleneck.DecidedByMachine(few) || bottleneck.Charged(few) != 3 {
			t.Errorf("limited by %s with 3 failures: decided %v, %d charged", by, bottleneck.DecidedByMachine(few), bottleneck.Charged(few))
		}
	}
}

func TestAStarvingLinkIsNotChargedToAServerAndWrongBytesAre(t *testing.T) {
	c := result.Cell{LimitedBy: bottleneck.Emulator, Failed: map[records.Outcome]int{"short": 13, "timeout": 2, "stalled": 1, "reset": 1, "connect": 1, "corrupt": 2, "status": 1, "range": 1}}
	if n := bottleneck.Charged(c); n != 4 || !bottleneck.DecidedByMachine(c) {
		t.Errorf("%d charged, want the 4 wrong answers; decided by the machine: %v", n, bottleneck.DecidedByMachine(c))
	}
}
