package cell

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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
	"piecebench/records"
)

func TestMain(m *testing.M) {
	fakek6.Main()
	os.Exit(m.Run())
}

// measure runs a cell of three clients with a k6 that does what is named.
func measure(t *testing.T, ctx context.Context, does string, change func(*Setup)) (result.Cell, Setup, error) {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"requests", "logs"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := Setup{K6: fakek6.Install(t, does), Manifest: "pieces.json", Dir: dir, Settings: settings.Settings{
		Warmup: 50 * time.Millisecond, Duration: 250 * time.Millisecond, Connections: "reuse"}}
	if change != nil {
		change(&s)
	}
	c := plan.Cell{ID: 7, Target: settings.Target{Name: "mine", URL: "http://127.0.0.1:8080/{piece}"}, Mode: workload.Mode{Name: "1KiB", Length: 1000, Requests: 1}, Concurrency: 3, Repetition: 1}
	measured, err := s.Run(ctx, c, func(records.Progress) {})
	return measured, s, err
}

func TestACellHasItsFiguresFromRecordsAndProgress(t *testing.T) {
	for _, does := range []string{fakek6.Good, fakek6.Lingering} {
		c, _, err := measure(t, context.Background(), does, nil)
		if err != nil {
			t.Errorf("%s: %v", does, err)
			continue
		}
		if c.ID != 7 || c.RequestsOK != 3 || c.Delivered() != 3000 || c.Evidence.Ran.Clients != 3 || len(c.Series) == 0 {
			t.Errorf("%s: %+v, ran %+v", does, c, c.Evidence.Ran)
		}
	}
}

func TestACellOfAScriptOfOnesOwnHasTheFiguresOfItsJobs(t *testing.T) {
	c, s, err := measure(t, context.Background(), fakek6.Good, func(s *Setup) { s.Settings.Workload = "/mine.js" })
	if err != nil {
		t.Fatal(err)
	}
	j := c.Jobs
	if j == nil || j.OK != 3 || j.Duration.P100.Ms != 4 || j.Share("verify") != 0.25 || j.Other != 0.25 || c.Evidence.Ran.Jobs != 3 {
		t.Fatalf("%+v", j)
	}
	if _, err := records.OpenJobs(filepath.Join(s.Dir, j.Records)); err != nil {
		t.Error(err)
	}
	// A cell that failed, and one that is measured again, leave none behind.
	if err := s.SetAside(plan.Cell{ID: 7, Target: settings.Target{Name: "mine"}, Mode: workload.Mode{Name: "1KiB"}, Concurrency: 3, Repetition: 1}); err != nil {
		t.Fatal(err)
	}
	aside, _ := filepath.Glob(filepath.Join(s.Dir, "unfinished", "*.parquet.*"))
	if left, _ := filepath.Glob(filepath.Join(s.Dir, "jobs", "*")); left != nil || len(aside) != 2 {
		t.Errorf("left %v, set aside %v", left, aside)
	}
	_, _, err = measure(t, context.Background(), fakek6.Good, func(s *Setup) { s.Settings.Workload, s.Settings.Requests = "/mine.js", 2 })
	if err != nil { // its window lasted as long as it may
		t.Error(err)
	}
}

func TestAGeneratorThatRunsOtherJobsIsRefused(t *testing.T) {
	v := settings.Settings{Requests: 2, Duration: time.Second}
	for jobs, refused := range map[int64]bool{0: false, 5: true, 6: false, 7: true} {
		err := ranJobs(result.Ran{Jobs: jobs, WindowS: 0.5}, plan.Cell{Concurrency: 3}, v)
		if (err != nil) != refused {
			t.Errorf("%d jobs of 6: %v", jobs, err)
		}
	}
	if err := ranJobs(result.Ran{Jobs: 5, WindowS: 1}, plan.Cell{Concurrency: 3}, v); err != nil {
		t.Errorf("the time was up: %v", err)
	}
}

func TestAGeneratorThatDoesNotDoItsCellIsRefused(t *testing.T) {
	long := startTimeout
	defer func() { startTimeout = long }()
	for does, says := range map[string]string{
		fakek6.Silent:     "k6 does not end",
		fakek6.Early:      "k6 ended before its records were complete",
		fakek6.Failing:    "what went wrong",
		fakek6.Fewer:      "clients that made a request: 2, not 3",
		fakek6.Unrecorded: "did not complete its records",
	} {
		startTimeout = long
		if does == fakek6.Silent {
			startTimeout = 300 * time.Millisecond
		}
		_, s, err := measure(t, context.Background(), does, nil)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %q", does, err, says)
		}
		if left, _ := filepath.Glob(filepath.Join(s.Dir, "requests", "*")); left != nil {
			t.Errorf("%s: left %v among the cells that count", does, left)
		}
	}
}

func TestAnInterruptEndsTheGenerator(t *testing.T) {
	ctx, stop := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer stop()
	if _, _, err := measure(t, ctx, fakek6.Endless, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// agent is a link agent that sees a server on port 8080, and changes with the calls
// of GET /procs. After n calls of GET /link, n*n packets of 1000 bytes were sent.
func agent(t *testing.T, procs func(call int64, server *client.Proc) (dies bool)) *client.Client {
	t.Helper()
	var calls, links atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		switch r.URL.Path {
		case "/procs":
			call := calls.Add(1)
			p := client.Proc{Port: 8080, Command: "nginx", PIDs: []int{10}, Usage: client.Usage{CPUSeconds: float64(call), RSSBytes: 5e6}}
			if procs(call, &p) {
				panic(http.ErrAbortHandler) // the connection closes
			}
			answer = client.Procs{Procs: []client.Proc{p}}
		case "/sockets":
			answer = client.Sockets{Port: 8080, Established: 3, RTTMs: 40}
		case "/link":
			n := links.Add(1)
			answer = client.State{Backend: client.Kernel, Stats: client.Stats{
				SentPackets: n * n, SentBytes: 1000 * n * n, LossDrops: n, TCPSegments: 100 * n, TCPRetransmitted: 10 * n,
			}}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheServersCostIsWhatItUsedInTheWindow(t *testing.T) {
	a := agent(t, func(int64, *client.Proc) bool { return false })
	c, _, err := measure(t, context.Background(), fakek6.Good, func(s *Setup) { s.Agent = a })
	if err != nil {
		t.Fatal(err)
	}
	if c.ServerCPUSPerGB == nil || c.ServerRSSMB == nil {
		t.Fatalf("the server's cost is not known: %+v", c)
	}
	// A second from the window's start to its end, for 3000 bytes.
	if got := *c.ServerCPUSPerGB; math.Abs(got-1e9/3000) > 1 || *c.ServerRSSMB != 5 {
		t.Errorf("%.0f CPU seconds a GB, %.1f MB", got, *c.ServerRSSMB)
	}
}

// The link's counters are read before the cell, when its window has started, and when it
// has ended.
func TestACellHasTheWireBytesOfItsWindow(t *testing.T) {
	a := agent(t, func(int64, *client.Proc) bool { return false })
	c, _, err := measure(t, context.Background(), fakek6.Good, func(s *Setup) { s.Agent = a })
	if err != nil {
		t.Fatal(err)
	}
	w := c.Evidence.Wire
	if w == nil || w.Bytes != 5000 || w.Packets != 5 || w.LostPackets != 1 || w.Segments != 100 || w.Retransmitted != 10 || w.Seconds <= 0 {
		t.Fatalf("from the window's start to its end: %+v", w)
	}
	if got, ok := c.WireBytes(); !ok || math.Abs(got-6000*c.WindowS/w.Seconds) > 1 {
		t.Errorf("%v bytes in a window of %v s, want 6000 in %v s", got, c.WindowS, w.Seconds)
	}

	a = agent(t, func(int64, *client.Proc) bool { return false })
	c, _, err = measure(t, context.Background(), fakek6.Good, func(s *Setup) {
		s.Agent, s.Settings.Requests = a, 1
	})
	if err != nil {
		t.Fatal(err)
	}
	// A cell that ends with its requests: all that was sent since before it.
	if got, ok := c.WireBytes(); !ok || c.Evidence.Wire.Bytes != 8000 || got != 10000 {
		t.Errorf("%v bytes, and %+v from before the cell to its end", got, c.Evidence.Wire)
	}
}

func TestACellWithoutAQueueHasNoWireBytes(t *testing.T) {
	c, _, err := measure(t, context.Background(), fakek6.Good, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.WireBytes(); ok || c.Evidence.Wire != nil {
		t.Errorf("without a link agent: %+v", c.Evidence.Wire)
	}
	if w := wire(linkReading{}, linkReading{Stats: client.Stats{TCPSegments: 9}}, 1); w != nil {
		t.Errorf("without a queue: %+v", w)
	}
}

func TestACellWhoseAgentOrServerGoesAwayIsRefused(t *testing.T) {
	for says, procs := range map[string]func(int64, *client.Proc) bool{
		"netem-agent does not answer": func(call int64, _ *client.Proc) bool { return call >= 3 }, // before, start, end
		"was started again": func(call int64, p *client.Proc) bool {
			if call == 3 {
				p.PIDs = []int{11}
			}
			return false
		},
		"is stopped": func(call int64, p *client.Proc) bool { p.Stopped = call > 1; return false },
		"the server has ended": func(_ int64, p *client.Proc) bool {
			*p = client.Proc{Port: 8080, Problem: client.NothingListens}
			return false
		},
	} {
		a := agent(t, procs)
		if _, _, err := measure(t, context.Background(), fakek6.Good, func(s *Setup) { s.Agent = a }); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want %q", err, says)
		}
	}
}
