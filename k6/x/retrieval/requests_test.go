package retrieval_test

import (
	"testing"
	"time"

	"piecebench/records"
)

func TestEachClientMakesItsRequestsAndTheLastEndsTheWindow(t *testing.T) {
	c := newCell(t, nil)
	c.does.Requests, c.does.Warmup, c.does.Duration = 2, 0, time.Minute
	c.run(t)
	rows, r := c.rows(t)
	byClient := map[int32]int{}
	var last int64
	for _, row := range rows {
		if row.Outcome != records.OK || row.WindowBytes != row.Length {
			t.Errorf("%+v: want it ok, and all its bytes in the window", row)
		}
		byClient[row.Client]++
		last = max(last, row.StartUnixNs+row.DurationNs)
	}
	for client := int32(1); client <= 5; client++ {
		if byClient[client] != 2 {
			t.Errorf("client %d made %d requests, want 2", client, byClient[client])
		}
	}
	// k6 takes a moment to see that all have ended.
	if late := time.Duration(r.Window().EndNs - last); late < 0 || late > time.Second {
		t.Errorf("the window ended %s after the last request", late)
	}
	lines := c.lines(t)
	if end := lines[len(lines)-1]; !end.Done || end.WindowEnd != r.Window().EndNs {
		t.Errorf("the last progress line %+v does not end the window at %d", end, r.Window().EndNs)
	}
}

func TestRequestsThatDoNotEndInTimeAreCut(t *testing.T) {
	c := newCell(t, slowly)
	c.does.Length, c.does.Verify = 0, 0
	c.does.Requests, c.does.Warmup, c.does.Duration = 1, 0, time.Second
	c.run(t)
	rows, r := c.rows(t)
	if len(rows) != 5 || count(rows, records.Cut) != 5 {
		t.Errorf("%d rows, %d cut; want 5", len(rows), count(rows, records.Cut))
	}
	if w := r.Window(); w.EndNs-w.StartNs != int64(time.Second) {
		t.Errorf("the window took %d ns, not the second that it may", w.EndNs-w.StartNs)
	}
}
