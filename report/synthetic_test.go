package report_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"piecebench/bench/result"
	"piecebench/records"
	"piecebench/report/export"
)

// sweep describes a synthetic run: made-up figures in the shape of real ones,
// for looking at reports and for testing them. They say nothing about any server.
type sweep struct {
	targets, links, modes []string
	concurrency           []int
	repeat                int
}

var defaultSweep = sweep{
	targets: []string{"raw", "gateway"}, links: []string{"1gbit/40ms", "10gbit/40ms"},
	modes: []string{"full", "1MiB", "10MiB", "100MiB"}, concurrency: []int{1, 10, 100, 1000}, repeat: 1,
}

// bytes of one request.
func requestSize(mode string) float64 {
	var mib float64
	if _, err := fmt.Sscanf(mode, "%fMiB", &mib); err != nil {
		mib = 508
	}
	return mib * (1 << 20)
}

func synthetic(s sweep) *result.Run {
	rng := rand.New(rand.NewPCG(2023, 3))
	started := time.Date(2026, 3, 1, 17, 45, 0, 0, time.UTC)
	finished := started.Add(21 * time.Minute)
	run := &result.Run{
		Schema: result.SchemaVersion, ID: result.NewID(started, "synthetic"), Piecebench: "test",
		Started: started, Finished: &finished,
		Settings: map[string]string{"CONCURRENCY": "1000", "LINKS": "1gbit/40ms,10gbit/40ms", "MODES": "full,1MiB,10MiB,100MiB",
			"TARGETS": "raw,gateway", "DURATION": "10s", "WARMUP": "2s", "VERIFY": "0.05"},
		Fingerprint: map[string]string{"cpu": "Synthetic 9000", "cpus": "2", "kernel": "6.1.0-synthetic", "memory": "23.5 GiB",
			"net.ipv4.tcp_rmem": "4096 131072 16777216"},
	}
	ceilings := map[string]float64{}
	for i, link := range s.links {
		rate := 1e9 * math.Pow(10, float64(i%2))
		expected := rate * 1448 / 1514
		ceiling := expected * 0.998
		c := result.Calibration{Link: link, Backend: "userspace", AskedRateBits: int64(rate), AskedDelayMs: 40,
			IdleRTTMs: 40.2 + float64(i)/10, ExpectedBits: int64(expected)}
		if rate > 5e9 {
			ceiling, c.HostLimited = 7.52e9, true
			c.Notes = []string{"host-limited: with 128 streams it carries 7520.0 of 9564.1 Mbit/s with the CPUs 97 % busy"}
		}
		c.CeilingBits = int64(ceiling)
		ceilings[link] = ceiling
		for j, streams := range []int{1, 8, 128} {
			c.Unshaped = append(c.Unshaped, result.StreamsCapacity{Streams: streams, GoodputBits: int64(24e9 + 1e9*float64(j)), HostCPU: 0.95})
			c.Through = append(c.Through, result.StreamsCapacity{Streams: streams, GoodputBits: int64(ceiling * (1 - 0.01*float64(2-j))), HostCPU: 0.6})
		}
		run.Calibrations = append(run.Calibrations, c)
	}
	for rep := range s.repeat {
		for _, link := range s.links {
			for _, mode := range s.modes {
				for _, n := range s.concurrency {
					for t, target := range s.targets {
						c := syntheticCell(rng, mode, n, t, ceilings[link])
						c.ID, c.Target, c.Link, c.Repetition = len(run.Cells)+1, target, link, rep+1
						c.HostLimited = ceilings[link] == 7.52e9
						run.Cells = append(run.Cells, c)
					}
				}
			}
		}
	}
	run.Planned = len(run.Cells)
	return run
}

// syntheticCell follows a simple queue: so many clients, a round trip and slow
// start before each request's bytes, one link, and servers that get slower
// with clients the further back they stand in the list.
func syntheticCell(rng *rand.Rand, mode string, n, t int, ceiling float64) result.Cell {
	const window, rtt = 10.0, 0.0402
	size := requestSize(mode)
	noise := 1 + 0.01*rng.NormFloat64()
	capacity := ceiling * (1 - 0.004*float64(t) - 0.13*float64(t)*math.Log10(float64(n))/3*math.Exp(-size/30e6)) * min(1, noise)
	slowStart := rtt * math.Log2(1+min(size, 5e6)/14480)
	alone := slowStart + size*8/min(capacity, 0.98*ceiling)
	goodput := min(capacity, float64(n)*size*8/alone)
	seconds := float64(n) * size * 8 / goodput
	ttfb := (rtt + 0.002*float64(1+2*t) + 0.00012*float64(n)*float64(1+3*t)) * 1000 * (1 + 0.02*rng.Float64())
	ended := goodput * window / 8 / size
	c := result.Cell{Mode: mode, Concurrency: n, WindowS: window, RequestsOK: int64(ended), RequestsCut: int64(n),
		Failed: map[records.Outcome]int{}, WindowBytes: int64(goodput * window / 8), CeilingBits: int64(ceiling),
		HostCPU: min(1, goodput/8e9+0.1)}
	c.TTFB = result.Quantiles{P50: &result.Quantile{Ms: ttfb}, P95: &result.Quantile{Ms: ttfb * 1.6}, P99: &result.Quantile{Ms: ttfb * 2.2}}
	at := func(factor float64) *result.Quantile {
		if s := seconds * factor; s < window+2 {
			return &result.Quantile{Ms: s * 1000}
		}
		return &result.Quantile{Ms: (window + 2) * 1000, Bound: true}
	}
	c.Duration = result.Quantiles{P50: at(1), P95: at(1.2), P99: at(1.5)}
	c.WarmupQuantiles = int(ended) < 2*n
	if goodput > 0.95*ceiling {
		c.LimitedBy = "link"
	}
	server, gen, rss := 0.08+0.1*float64(t), 0.12, 40+120*float64(t)
	c.ServerCPUSPerGB, c.GenCPUSPerGB, c.ServerRSSMB = &server, &gen, &rss
	for second := -1; second <= 10; second++ {
		c.Series = append(c.Series, result.SeriesPoint{T: float64(second), DeliveredBits: goodput * (1 + 0.02*rng.NormFloat64())})
	}
	return c
}

// writeRecords writes requests in the shape of each cell's quantiles, so many a cell,
// into dir.
func writeRecords(t testing.TB, dir string, run *result.Run, requests int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "requests"), 0o755); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(2023, 4))
	for i := range run.Cells {
		c := &run.Cells[i]
		c.Records = fmt.Sprintf("requests/%03d.parquet", c.ID)
		w, err := records.Create(filepath.Join(dir, c.Records))
		if err != nil {
			t.Fatal(err)
		}
		window := records.Window{StartNs: 1e18, EndNs: 1e18 + 10e9}
		for n := range requests {
			tail := math.Exp(0.3 * rng.NormFloat64())
			r := records.Request{StartUnixNs: window.StartNs + int64(8e9*rng.Float64()), Outcome: records.OK, HTTP: "HTTP/1.1",
				TTFBNs: int64(c.TTFB.P50.Ms * 1e6 * tail), DurationNs: int64(c.Duration.P50.Ms * 1e6 * tail), Client: int32(n % c.Concurrency)}
			if n < requests/10 {
				r.ConnectNs = 40e6
			}
			r.DurationNs = max(r.DurationNs, r.ConnectNs+r.TTFBNs)
			if age := window.EndNs - r.StartUnixNs; r.DurationNs > age {
				r.DurationNs, r.Outcome = age, records.Cut
			}
			w.Add(&r)
		}
		if err := w.Close(window); err != nil {
			t.Fatal(err)
		}
	}
}

// To look at the synthetic run's reports:
//
//	go test ./report -run Synthetic -synthetic DIR
var syntheticDir = flag.String("synthetic", "", "folder to write a synthetic run and its reports to")

func TestReportsOfTheSyntheticRun(t *testing.T) {
	needLibrary(t)
	dir := *syntheticDir
	if dir == "" {
		dir = t.TempDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run := synthetic(defaultSweep)
	if err := run.Save(dir); err != nil {
		t.Fatal(err)
	}
	paths, err := export.Save(dir, run, export.HTML, export.Markdown)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"report.html", "report.md"} {
		if want := filepath.Join(dir, name); i >= len(paths) || paths[i] != want {
			t.Errorf("paths %q lack %s", paths, want)
		} else if st, err := os.Stat(want); err != nil || st.Size() < 10_000 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	if _, err := export.Named(export.OfRuns(80), "pdf"); err == nil {
		t.Error("a format that does not exist is known")
	}
}
