package verdict_test

import (
	"testing"

	"piecebench/bench/result"
	"piecebench/bench/verdict"
)

func TestWhatTheMachineDecidedIsNoFindingAboutAServer(t *testing.T) {
	for by, want := range map[string]bool{
		verdict.Host: true, verdict.Generator: true, verdict.Emulator: true,
		verdict.Link: false, verdict.Latency: false, verdict.Server: false, verdict.ServerCPU: false, "": false,
	} {
		c := result.Cell{LimitedBy: by, RequestsOK: 100, WindowBytes: 1}
		if verdict.DecidedByMachine(c) != want || verdict.TimesDecidedByMachine(c) != want {
			t.Errorf("limited by %q: decided by the machine is %v", by, !want)
		}
		c.Evidence = &result.Evidence{Emulator: &result.Emulator{Late: verdict.LateShare}}
		if verdict.DecidedByMachine(c) != want || !verdict.TimesDecidedByMachine(c) {
			t.Errorf("limited by %q with a late delay line: times are not the machine's, or goodput is", by)
		}
	}
}

// A generator that spins on refused connections is full of the server's errors.
func TestADeadServerIsNotExcusedByTheMachine(t *testing.T) {
	for _, by := range []string{verdict.Host, verdict.Generator} {
		for _, c := range []result.Cell{
			{Failed: map[string]int{"connect": 9000}},
			{RequestsOK: 100, WindowBytes: 1, Failed: map[string]int{"status": 100}},
			{RequestsOK: 100, Failed: map[string]int{"corrupt": 1}},
		} {
			if c.LimitedBy = by; verdict.DecidedByMachine(c) {
				t.Errorf("limited by %s, %d ok, %v: decided by the machine", by, c.RequestsOK, c.Failed)
			}
		}
		few := result.Cell{LimitedBy: by, RequestsOK: 100, WindowBytes: 1, Failed: map[string]int{"reset": 3}}
		if !verdict.DecidedByMachine(few) || verdict.Charged(few) != 3 {
			t.Errorf("limited by %s with 3 failures: decided %v, %d charged", by, verdict.DecidedByMachine(few), verdict.Charged(few))
		}
	}
}

func TestAStarvingLinkIsNotChargedToAServerAndWrongBytesAre(t *testing.T) {
	c := result.Cell{LimitedBy: verdict.Emulator, Failed: map[string]int{"short": 13, "timeout": 2, "stalled": 1, "reset": 1, "connect": 1, "corrupt": 2, "status": 1, "range": 1}}
	if n := verdict.Charged(c); n != 4 || !verdict.DecidedByMachine(c) {
		t.Errorf("%d charged, want the 4 wrong answers; decided by the machine: %v", n, verdict.DecidedByMachine(c))
	}
}
