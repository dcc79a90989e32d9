package runner

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"piecebench/bench/plan"
	"piecebench/bench/result"
	"piecebench/bench/settings"
	"piecebench/bench/workload"
	"piecebench/internal/fakek6"
	"piecebench/netem/client"
	"piecebench/netem/link"
	"piecebench/piece"
)

// newSweep returns a sweep of four cells with a fake k6, whose ceilings are known.
func newSweep(t *testing.T) *sweep {
	t.Helper()
	dir, err := result.Create(t.TempDir(), "run")
	if err != nil {
		t.Fatal(err)
	}
	r := &sweep{
		options:  Options{Out: dir, K6: fakek6.Install(t, fakek6.Good), Manifest: "pieces.json"},
		settings: settings.Settings{Warmup: 10 * time.Millisecond, Duration: 100 * time.Millisecond, Cache: "warm"},
		status:   newStatus(io.Discard),
		manifest: &piece.Manifest{Pieces: []piece.Piece{{PaddedSize: 2048}}},
		results:  &result.Run{Schema: result.SchemaVersion, ID: "run", Generator: &result.Generator{CeilingBits: 1e9}},
	}
	for id := 1; id <= 4; id++ {
		r.cells = append(r.cells, plan.Cell{ID: id, Target: settings.Target{Name: "mine", URL: "http://h/{piece}"}, Mode: workload.Mode{Name: "1KiB", Length: 1000, Requests: 1}, Concurrency: id, Repetition: 1})
	}
	return r
}

func (r *sweep) measured() (ids []int) {
	for _, c := range r.results.Cells {
		ids = append(ids, c.ID)
	}
	return ids
}

func TestResumeMeasuresTheMissingCellsInTheirOrder(t *testing.T) {
	r := newSweep(t)
	for _, id := range []int{1, 3} {
		r.results.Cells = append(r.results.Cells, result.Cell{ID: id, Target: "mine", Link: "none", Mode: "1KiB", Concurrency: id, Repetition: 1, WindowS: 10})
	}
	if err := r.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := r.measured(); !slices.Equal(got, []int{1, 3, 2, 4}) {
		t.Errorf("cells %v, want 1 and 3 as they were, then 2 and 4", got)
	}
	if saved, err := result.Load(r.options.Out); err != nil || len(saved.Cells) != 4 {
		t.Errorf("%v, %v", saved, err)
	}
}

func TestACellThatFailsKeepsTheCellsBeforeIt(t *testing.T) {
	r := newSweep(t)
	r.options.K6 = fakek6.Install(t, fakek6.Fewer) // one client less than ordered
	err := r.run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "cell 1 (mine, none, 1KiB, 1 clients): the generator ran another cell than planned") {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(r.options.Out, "requests", "*")); len(left) != 0 || r.measured() != nil {
		t.Errorf("cells %v, records %v", r.measured(), left)
	}
}

// withAgent gives a sweep a link agent that answers GET and PUT /link, as change
// makes it from the second GET on.
func (r *sweep) withAgent(t *testing.T, change func(get int64, state *client.State) (dies bool)) *atomic.Int64 {
	t.Helper()
	var puts, gets atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		state := client.State{Setting: client.SettingOf(link.None), Backend: client.Kernel}
		if req.Method == http.MethodPut {
			puts.Add(1)
		} else if change(gets.Add(1), &state) {
			panic(http.ErrAbortHandler) // the connection closes
		}
		_ = json.NewEncoder(w).Encode(state)
	}))
	t.Cleanup(server.Close)
	var err error
	if r.agent, err = client.New(server.URL, ""); err != nil {
		t.Fatal(err)
	}
	return &puts
}

func TestCeilingsOfAResumedRunAreNotMeasuredAgain(t *testing.T) {
	r := newSweep(t)
	puts := r.withAgent(t, func(int64, *client.State) bool { return false })
	if err := r.calibrate(context.Background()); err != nil || puts.Load() != 0 || r.results.Generator.CeilingBits != 1e9 {
		t.Errorf("%v, the link was set %d times, generator %+v", err, puts.Load(), r.results.Generator)
	}
}

func TestAnAgentThatDiesEndsTheSweepAndKeepsItsCells(t *testing.T) {
	r := newSweep(t)
	r.withAgent(t, func(get int64, _ *client.State) bool { return get > 2 })
	if err := r.run(context.Background()); err == nil || !strings.Contains(err.Error(), "cell 3") || !strings.Contains(err.Error(), "netem-agent does not answer") {
		t.Error(err)
	}
	if saved, err := result.Load(r.options.Out); err != nil || len(saved.Cells) != 2 {
		t.Errorf("%+v, %v; want the two cells before", saved, err)
	}
	if left, _ := filepath.Glob(filepath.Join(r.options.Out, "requests", "*")); len(left) != 2 {
		t.Errorf("records %v, want those of two cells", left)
	}
}

func TestACellWhoseLinkSomebodyElseChangedIsRefused(t *testing.T) {
	for says, change := range map[string]func(*client.State){
		"the link was 1mbit/0ms, not none":    func(s *client.State) { s.RateBits = 1e6 },
		"somebody else set the link, to none": func(s *client.State) { s.Lease = "another" },
		"burst and queues were 9 B":           func(s *client.State) { s.BurstBytes = 9 },
	} {
		r := newSweep(t)
		r.withAgent(t, func(_ int64, s *client.State) bool { change(s); return false })
		if err := r.run(context.Background()); err == nil || !strings.Contains(err.Error(), says) || r.measured() != nil {
			t.Errorf("%v, cells %v; want %q", err, r.measured(), says)
		}
	}
}
