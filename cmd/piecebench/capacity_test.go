package main_test

import (
	"context"
	"encoding/json"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"piecebench/bench/capacity"
	"piecebench/bench/result"
	"piecebench/lab/labtest"
	"piecebench/records"
)

// crowd is a server that answers the first connections, up to so many at a time, and refuses
// the others with status 503. Both take it the same time.
type crowd struct {
	http.Handler
	most     int
	mu       sync.Mutex
	open     int
	admitted map[net.Conn]bool
	peak     int
}

type connKey struct{}

func newCrowd(t *testing.T, files http.Handler, most int) (*crowd, *httptest.Server) {
	c := &crowd{Handler: files, most: most, admitted: map[net.Conn]bool{}}
	server := httptest.NewUnstartedServer(c)
	server.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, conn)
	}
	server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch state {
		case http.StateNew:
			c.open++
			c.peak = max(c.peak, c.open)
		case http.StateClosed:
			c.open--
			delete(c.admitted, conn)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	return c, server
}

func (c *crowd) admit(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.admitted[conn] && len(c.admitted) < c.most {
		c.admitted[conn] = true
	}
	return c.admitted[conn]
}

func (c *crowd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(100 * time.Millisecond)
	if !c.admit(r.Context().Value(connKey{}).(net.Conn)) {
		http.Error(w, "too many clients", http.StatusServiceUnavailable)
		return
	}
	c.Handler.ServeHTTP(w, r)
}

// throttle is a server that sends at most a number of bytes per second, to all clients
// together, and keeps account of when it sent them.
type throttle struct {
	http.Handler
	rate float64
	mu   sync.Mutex
	next time.Time // when the next bytes may go
	sent []sending
}

type sending struct {
	at    time.Time
	bytes int
}

func (s *throttle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Handler.ServeHTTP(throttled{w, s}, r)
}

// throttled hides the ReadFrom of a ResponseWriter, which would go around the rate.
type throttled struct {
	http.ResponseWriter
	server *throttle
}

func (t throttled) Write(b []byte) (n int, err error) {
	const most = 2 << 10
	for len(b) > 0 && err == nil {
		part := b[:min(most, len(b))]
		time.Sleep(time.Until(t.server.turn(len(part))))
		var m int
		m, err = t.ResponseWriter.Write(part)
		if f, ok := t.ResponseWriter.(http.Flusher); ok {
			f.Flush()
		}
		t.server.note(m)
		n += m
		b = b[m:]
	}
	return n, err
}

// turn returns when so many bytes may be sent. What was missed for more than 20 ms is lost.
func (s *throttle) turn(bytes int) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if earliest := time.Now().Add(-20 * time.Millisecond); s.next.Before(earliest) {
		s.next = earliest
	}
	at := s.next
	s.next = at.Add(time.Duration(float64(bytes) / s.rate * float64(time.Second)))
	return at
}

func (s *throttle) note(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, sending{time.Now(), bytes})
}

// of returns the bytes per second that it sent in the window of a cell.
func (s *throttle) of(c result.Cell) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, sent := range s.sent {
		if sent.at.After(c.WindowStart) && sent.at.Before(c.WindowEnd()) {
			n += sent.bytes
		}
	}
	return float64(n) / c.WindowS
}

func (p program) limits(text string) (path string) {
	p.t.Helper()
	path = filepath.Join(p.dir, "limits.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// capacityOf searches a server's capacity with up to 300 clients.
func (p program) capacityOf(server *httptest.Server, limits, out string) (run *result.Run, arguments []string) {
	p.t.Helper()
	arguments = []string{"capacity", "--slo", p.limits(limits), "--targets", "mine=" + server.URL + "/piece/{piece}", "--links", "none", "--modes", "16KiB",
		"--concurrency", "300", "--duration", "1s", "--warmup", "500ms", "--verify", "0", "--manifest", filepath.Join(p.data(), "pieces.json")}
	out = filepath.Join(p.dir, out)
	stdout, stderr, code := p.run(append(arguments, "--out", out)...)
	p.t.Log(stderr, stdout)
	run, err := result.Load(out)
	if err != nil || code == 2 || lastLine(stdout) != filepath.Join(out, "report.html") {
		p.t.Fatalf("exit code %d, %v", code, err)
	}
	return run, arguments
}

// wantCapacity checks that the answer is within 5 % of the truth, which is known with a
// tolerance.
func wantCapacity(t *testing.T, run *result.Run, truth, tolerance float64) result.CapacityAnswer {
	t.Helper()
	a := run.Capacity.Answers[0]
	low := float64(a.Clients)
	if !a.Done || a.Cells > capacity.MostCells || a.Beyond == nil || low > truth*(1+tolerance) || low < truth*(1-tolerance)/1.05 || float64(a.Beyond.Clients) <= truth*(1-tolerance) {
		shown, _ := json.Marshal(a)
		t.Errorf("the server serves %.0f clients; found %s", truth, shown)
	}
	return a
}

func (p program) data() string { return filepath.Join(p.install, "data") }

func serveDataset(p program) http.Handler {
	data := labtest.Dataset(p.t)
	if err := os.CopyFS(p.data(), os.DirFS(data)); err != nil {
		p.t.Fatal(err)
	}
	return http.StripPrefix("/piece/", http.FileServer(http.Dir(filepath.Join(data, "flat"))))
}

// The server refuses all connections but the first 90.
func TestTheCapacityOfAServerThatBreaks(t *testing.T) {
	const most = 90
	p := newProgram(t, "k6")
	c, server := newCrowd(t, serveDataset(p), most)
	run, arguments := p.capacityOf(server, "- success_rate: 99.5%", "run")
	a := wantCapacity(t, run, most, 0)
	if a.Failure == nil || a.AtLeast != "" || len(a.Failure.Limits) != 1 || !strings.HasPrefix(a.Failure.Limits[0], "success rate is 9") {
		t.Errorf("%+v; it failed by %+v", a, a.Failure)
	}
	tried := 0
	for _, cell := range run.Cells {
		tried = max(tried, cell.Concurrency)
		if refused := cell.Failed[records.Status] > 0; refused != (cell.Concurrency > most) {
			t.Errorf("%d clients: status 503: %v", cell.Concurrency, refused)
		}
	}
	if c.peak < tried {
		t.Errorf("the server had at most %d connections at a time, and %d clients were tried", c.peak, tried)
	}

	// A search that has ended is only judged again.
	out := filepath.Join(p.dir, "run")
	t.Setenv("RESUME", out)
	for wanted, want := range map[string]int{"80": 0, "200": 1} {
		stdout, stderr, code := p.run(append(arguments, "--at-least", wanted)...)
		again, err := result.Load(out)
		if code != want || err != nil || len(again.Cells) != len(run.Cells) || want == 1 && !strings.Contains(stderr, "fewer clients than the 200 wanted: mine (16KiB, no emulated link): ") {
			t.Errorf("%s clients wanted: exit code %d, want %d; %v\n%s%s", wanted, code, want, err, stdout, stderr)
		}
		var file struct {
			ID      string
			Reached bool
			Answers []result.CapacityAnswer
		}
		text, err := os.ReadFile(filepath.Join(out, result.CapacityFile))
		if err == nil {
			err = json.Unmarshal(text, &file)
		}
		if err != nil || file.ID != run.ID || file.Reached != (want == 0) || len(file.Answers) != 1 {
			t.Errorf("%s: %v\n%s", result.CapacityFile, err, text)
		}
	}
}

// All clients together get 2 MB/s; each has to get 160 kbit/s. By its own account the server may
// send less, on a busy machine.
func TestTheCapacityOfAServerThatIsThrottled(t *testing.T) {
	const rate, least = 2e6, 160e3 / 8
	p := newProgram(t, "k6")
	s := &throttle{Handler: serveDataset(p), rate: rate}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	for attempt := range 3 {
		run, _ := p.capacityOf(server, "- client_goodput: 160kbit", "run"+strconv.Itoa(attempt))
		disturbed := false
		for _, c := range run.Cells {
			sent, got := s.of(c), c.GoodputBits()/8
			t.Logf("%d clients: the server sent %.0f bytes/s of %.0f, and they got %.0f", c.Concurrency, sent, rate, got)
			near := math.Abs(float64(c.Concurrency)*least/rate-1) < 0.15
			disturbed = disturbed || near && (math.Abs(sent/rate-1) > 0.015 || math.Abs(got/sent-1) > 0.01)
		}
		if !disturbed {
			wantCapacity(t, run, rate/least, 0.02)
			return
		}
	}
	t.Skip("SKIPPED: the capacity of a throttled server is NOT tested: other work on this machine kept the server from its rate")
}

func TestCapacityRefusesWhatItCannotSearch(t *testing.T) {
	p := newProgram(t)
	for says, c := range map[string]struct {
		limits    string
		arguments []string
	}{
		"needs the file of limits":                     {"", nil},
		"line 1: 5 is not a rate":                      {"- client_goodput: 5", nil},
		"line 2: a search chooses the concurrency":     {"- ttfb_p95: 1s\n- {concurrency: 10, ttfb_p95: 1s}", nil},
		"line 1: goodput_over compares two targets":    {"- goodput_over: {raw: 1}", nil},
		"line 2: no target, link and mode is one that": {"- ttfb_p95: 1s\n- {target: other, ttfb_p95: 1s}", nil},
		"REPEAT=3: a search repeats cells itself":      {"- ttfb_p95: 1s", []string{"--repeat", "3"}},
		"AT_LEAST=0: want a number of clients":         {"- ttfb_p95: 1s", []string{"--at-least", "0"}},
	} {
		arguments := append([]string{"capacity", "--targets", "mine=http://127.0.0.1:1/{piece}", "--links", "none"}, c.arguments...)
		if c.limits != "" {
			arguments = append(arguments, "--slo", p.limits(c.limits))
		}
		stdout, stderr, code := p.run(arguments...)
		if left, _ := os.ReadDir(filepath.Join(p.dir, "results")); code != 2 || !strings.Contains(stderr, says) || strings.Count(stderr, "\n") != 1 || stdout != "" || len(left) > 0 {
			t.Errorf("%s: exit code %d\n%s%s", says, code, stdout, stderr)
		}
	}
}

func TestCapacityPlanSaysHowLongItTakesAtMost(t *testing.T) {
	p := newProgram(t)
	file := p.limits("- {mode: 1MiB, ttfb_p95: 1s}")
	want := `target  link  mode  clients    cells
mine    none  1MiB  1 to 5000  at most 12

at most 12 cells, about 3m
Not searched, because there are no limits for them: mine, full, no emulated link.
`
	target := []string{"--targets", "mine=http://127.0.0.1:1/{piece}", "--links", "none", "--modes", "1MiB,full", "--concurrency", "5000"}
	for _, command := range [][]string{{"capacity", "--plan", "--slo", file}, {"plan"}} {
		if command[0] == "plan" {
			t.Setenv("SLO", file)
		}
		if stdout, stderr, code := p.run(append(command, target...)...); code != 0 || stdout != want {
			t.Errorf("%s: exit code %d\n%s%s", command, code, stdout, stderr)
		}
	}
}
