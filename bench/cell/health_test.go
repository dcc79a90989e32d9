package cell

import (
	"context"
	"strings"
	"testing"
	"time"

	"piecebench/netem/client"
	"piecebench/records"
)

func TestAServerThatIsNotTheOneOfTheCellsBeginningIsRefused(t *testing.T) {
	before := []int{10, 11}
	for says, p := range map[string]client.Proc{
		"":                          {Port: 80, Command: "nginx", PIDs: []int{10, 11}},
		"the server has ended":      {Port: 80, Problem: client.NothingListens},
		"started again or reloaded": {Port: 80, Command: "nginx", PIDs: []int{10, 12}},
		"is stopped":                {Port: 80, Command: "nginx", PIDs: []int{10, 11}, Stopped: true},
	} {
		w := watch{port: 80, pids: before}
		server, err := w.server(client.Procs{Procs: []client.Proc{{Port: 81, Problem: client.NothingListens}, p}})
		if says == "" && (err != nil || server == nil) || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%+v: %v, want %q", p, err, says)
		}
	}
	w := watch{port: 80}
	if server, err := w.server(client.Procs{Procs: []client.Proc{{Port: 80, Problem: "not to be seen from here"}}}); server != nil || err != nil {
		t.Errorf("a server that the agent cannot see: %v, %v", server, err)
	}
}

func TestAPartThatStoodStillIsRefused(t *testing.T) {
	second := int64(time.Second)
	line := func(at int64) records.Progress {
		return records.Progress{UnixNs: at * second, WindowStart: 1 << 61, WindowEnd: 1 << 62}
	}
	w := watch{beaten: time.Now()}
	for _, at := range []int64{1, 2, 6} {
		w.observe(line(at))
	}
	if err := w.beat(context.Background()); err != nil || w.silence != 4*time.Second {
		t.Errorf("4 s: silence %s, %v", w.silence, err)
	}
	w.observe(line(26))
	if err := w.beat(context.Background()); err == nil || !strings.Contains(err.Error(), "generator stood still for 20.0 s") {
		t.Error(err)
	}
	// What comes after the window is not missed in it: records take their time.
	late := watch{last: records.Progress{UnixNs: 11 * second, WindowEnd: 12 * second}}
	late.observe(records.Progress{UnixNs: 13 * second, WindowEnd: 12 * second})
	late.observe(records.Progress{UnixNs: 40 * second, WindowEnd: 12 * second, Done: true})
	if late.silence != 2*time.Second {
		t.Errorf("silence %s, want 2s", late.silence)
	}
	slept := watch{last: line(3), beaten: time.Now().Add(-time.Minute)}
	if err := slept.beat(context.Background()); err == nil || !strings.Contains(err.Error(), "runner stood still for 60") {
		t.Error(err)
	}
}
