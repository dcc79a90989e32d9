package compare

import (
	"strings"
	"testing"

	"piecebench/bench/result"
)

// found is an answer: a server that served so many clients and failed with so many.
func found(target string, clients, beyond int) result.CapacityAnswer {
	a := result.CapacityAnswer{Target: target, Link: "none", Mode: "1MiB", Most: 1000, Done: true, Clients: clients}
	if beyond > 0 {
		a.Beyond = &result.CapacityAt{Clients: beyond, Failed: 2}
		a.Failure = &result.CapacityFailure{Clients: beyond}
	} else {
		a.AtLeast = result.AtLeastMost
	}
	return a
}

func TestCapacitiesAreComparedByTheirEnds(t *testing.T) {
	machine := found("x", 100, 105)
	machine.Failure, machine.AtLeast = nil, result.AtLeastMachine
	running := found("x", 100, 105)
	running.Done = false
	for _, c := range []struct {
		a, b result.CapacityAnswer
		want Verdict
	}{
		{found("x", 100, 105), found("x", 105, 110), Better},
		{found("x", 100, 105), found("x", 104, 109), NoDifference},
		{found("x", 105, 110), found("x", 100, 105), Worse},
		{found("x", 100, 105), found("x", 1000, 0), Better},
		{found("x", 1000, 0), found("x", 1000, 0), Unclear},
		{found("x", 100, 200), found("x", 150, 155), Unclear},
		{machine, found("x", 200, 210), NotJudged},
		{machine, found("x", 90, 95), Worse},
		{running, found("x", 500, 510), Unclear},
	} {
		if got := (Capacity{c.a, c.b}).Verdict(); got != c.want {
			t.Errorf("%d to %+v, %d to %+v: %s, want %s", c.a.Clients, c.a.Beyond, c.b.Clients, c.b.Beyond, got, c.want)
		}
	}
}

func TestCapacitiesOfTwoRunsAndOfTwoTargets(t *testing.T) {
	a := &result.Run{ID: "a", Capacity: &result.Capacity{Limits: "- ttfb_p95: 1s", Answers: []result.CapacityAnswer{found("x", 10, 11), found("y", 20, 21)}}}
	b := &result.Run{ID: "b", Capacity: &result.Capacity{Limits: "- ttfb_p95: 2s", Answers: []result.CapacityAnswer{found("x", 30, 31)}}}
	c, err := Runs(a, b, nil) // without a row in common
	if err != nil {
		t.Fatal(err)
	}
	if pairs := c.Capacities(); len(pairs) != 1 || pairs[0].A.Clients != 10 || pairs[0].B.Clients != 30 {
		t.Errorf("%+v", pairs)
	}
	if len(c.Differences) != 1 || c.Differences[0].Name != "limits" || !strings.Contains(c.Differences[0].B, "2s") {
		t.Errorf("other limits are not named: %+v", c.Differences)
	}
	if b.Capacity = nil; c.Capacities() != nil {
		t.Error("a sweep has capacities")
	}
	cell := result.Cell{Target: "x", Link: "none", Mode: "1MiB", Concurrency: 16, WindowS: 1}
	other := cell
	other.Target = "y"
	a.Cells = []result.Cell{cell, other}
	if c, err = Runs(a, a, []string{"x", "y"}); err != nil {
		t.Fatal(err)
	}
	if pairs := c.Capacities(); len(pairs) != 1 || pairs[0].A.Clients != 10 || pairs[0].B.Clients != 20 {
		t.Errorf("%+v", pairs)
	}
}
