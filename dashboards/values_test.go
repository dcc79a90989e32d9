package dashboards_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	prompb "buf.build/gen/go/prometheus/prometheus/protocolbuffers/go"
	"github.com/grafana/xk6-output-prometheus-remote/pkg/remote"
	"github.com/prometheus/common/model"

	"piecebench/bench/result"
	"piecebench/bench/series"
	"piecebench/dashboards"
	"piecebench/internal/testneeds"
	"piecebench/records"
)

// prometheus starts one that takes remote writes, and returns its base URL.
func prometheus(t *testing.T) string {
	t.Helper()
	testneeds.Program(t, "prometheus")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	dir := t.TempDir()
	cmd := exec.Command("prometheus", "--config.file=/dev/null", "--storage.tsdb.path="+dir, "--web.listen-address="+address, "--web.enable-remote-write-receiver")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{}} // no proxy
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if response, err := client.Get("http://" + address + "/-/ready"); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return "http://" + address
			}
		}
	}
	t.Fatal("Prometheus is not ready")
	return ""
}

// measured is a run of eight cells: raw and gateway, 1 and 10 clients, two repetitions. share
// is the part that it got of what the faster run got.
func measured(id string, started time.Time, share float64, connections string) *result.Run {
	run := &result.Run{
		ID: id, Started: started, Planned: 24, Piecebench: "1",
		Fingerprint: map[string]string{"revision": "rev-" + id}, Settings: map[string]string{"CONNECTIONS": connections},
		Calibrations: []result.Calibration{{Link: "1gbit/40ms", Backend: "kernel", CeilingBits: 1e9, IdleRTTMs: 40}},
	}
	for _, c := range []struct {
		target      string
		clients     int
		goodput     [2]float64 // Mbit/s of the repetitions
		ttfb        float64    // p95 in ms
		bound       bool
		failed, cut int64
	}{
		{"raw", 1, [2]float64{100, 100}, 40, false, 0, 1},
		{"gateway", 1, [2]float64{90, 94}, 44, false, 0, 1},
		{"raw", 10, [2]float64{200, 200}, 50, false, 0, 10},
		{"gateway", 10, [2]float64{100, 100}, 500, true, 3, 10},
	} {
		for i, mbit := range c.goodput {
			run.Cells = append(run.Cells, result.Cell{
				ID: len(run.Cells) + 1, Target: c.target, Link: "1gbit/40ms", Mode: "1MiB", Concurrency: c.clients, Repetition: i + 1,
				WindowStart: started.Add(time.Duration(len(run.Cells)) * 2 * time.Second), WindowS: 1,
				WindowBytes: int64(mbit * share * 1e6 / 8), DeliveredBytes: int64(mbit * share * 1e6 / 8), CeilingBits: 1e9,
				RequestsOK: 97, RequestsCut: c.cut, Failed: map[records.Outcome]int{records.Status: int(c.failed)},
				TTFB:      result.Quantiles{P95: &result.Quantile{Ms: c.ttfb, Bound: c.bound}},
				LimitedBy: "link",
			})
		}
	}
	return run
}

// samples is a series: values are pairs of seconds after a start and values.
func samples(start time.Time, labels map[string]string, name string, values ...[2]float64) *prompb.TimeSeries {
	labels = maps.Clone(labels)
	labels["__name__"] = name
	s := &prompb.TimeSeries{}
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		s.Labels = append(s.Labels, &prompb.Label{Name: label, Value: labels[label]})
	}
	for _, v := range values {
		s.Samples = append(s.Samples, &prompb.Sample{Timestamp: start.Add(time.Duration(v[0] * 1e9)).UnixMilli(), Value: v[1]})
	}
	return s
}

// The names of the runs are in the other order than their times. A refused run has no cell.
func TestThePanelsShowTheFiguresOfTheRuns(t *testing.T) {
	url := prometheus(t)
	begin := time.Now().Add(time.Second).Truncate(time.Second)
	end := begin.Add(50 * time.Second)
	for _, run := range []*result.Run{
		measured("z-old", begin, 0.5, "new"), measured("a-new", begin.Add(20*time.Second), 1, "reuse"),
		{ID: "m-refused", Started: begin.Add(10 * time.Second), Planned: 24, Calibrations: []result.Calibration{{Link: "1gbit/40ms", CeilingBits: 1}}},
	} {
		pusher, err := series.NewPusher(url, t.Logf)
		if err != nil || !pusher.Push(run, time.Minute) {
			t.Fatal("not pushed", err)
		}
	}
	client, err := remote.NewWriteClient(series.WriteURL(url), &remote.HTTPConfig{Timeout: 10 * time.Second, TLSConfig: &tls.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	// A cell runs at the end. k6 receives 1 Gbit/s; each second push says so 0.3 s late.
	cell := map[string]string{"run": "a-new", "target": "gateway", "link": "1gbit/40ms", "mode": "1MiB", "concurrency": "10", "repetition": "1"}
	var received, busy, clients [][2]float64
	for s := 38.0; s <= 50; s++ {
		received = append(received, [2]float64{s, (s + 0.3*math.Mod(s, 2)) * 1e9 / 8})
		busy, clients = append(busy, [2]float64{s, 1.5 * s}), append(clients, [2]float64{s, 10})
	}
	none := map[string]string{}
	other := map[string]string{"instance": "the lab before"}
	if err := client.Store(context.Background(), []*prompb.TimeSeries{
		samples(begin, cell, "k6_vus", clients...), samples(begin, cell, "k6_vus_max", clients...), samples(begin, cell, "k6_data_received_total", received...),
		samples(begin, none, "netem_host_cpus", [2]float64{49, 2}), samples(begin, none, "netem_host_cpu_busy_seconds_total", busy...),
		samples(begin, other, "netem_host_cpus", [2]float64{20, 64}), samples(begin, other, "netem_backlog_bytes", [2]float64{20, 1e9}), samples(begin, none, "netem_backlog_bytes", [2]float64{49, 5}),
		samples(begin, none, "nginx_up", [2]float64{49, 1}), samples(begin, map[string]string{"job": "gateway"}, "up", [2]float64{49, 0}),
		samples(begin, map[string]string{"command": "nginx"}, "netem_server_memory_bytes", [2]float64{49, 7}),
		samples(begin, map[string]string{"command": ""}, "netem_server_memory_bytes", [2]float64{49, 0}),
	}); err != nil {
		t.Fatal(err)
	}

	from := begin.Add(-time.Minute) // the runs are described as of now
	all, err := dashboards.Load()
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{"run": "a-new", "baseline": "z-old", "link": ".+", "mode": ".+", "target": ".+"}
	const row1, row10 = `{concurrency="1", link="1gbit/40ms", mode="1MiB", run="a-new", target="gateway"}`, `{concurrency="10", link="1gbit/40ms", mode="1MiB", run="a-new", target="gateway"}`
	for _, c := range []struct {
		file, panel, ref string
		want             []string // series and their last value
	}{
		{"compare", "Gateway / raw", "A", []string{`{target="gateway"} 0.71`}},
		{"compare", "Gateway / raw", "B", []string{`{target="gateway"} 0.5`}},
		{"compare", "Gateway / raw", "C", []string{`{target="gateway"} 2`}},
		{"compare", "Now", "A", []string{`{concurrency="10", link="1gbit/40ms", mode="1MiB", target="gateway"} 9`}},
		{"compare", "Now", "B", []string{`{} 24`}},
		{"compare", "Gateway / raw by row", "A", []string{row1 + " 0.92", row10 + " 0.5"}},
		{"compare", "Gateway / raw by row", "B", []string{row1 + " 0.9", row10 + " 0.5"}},
		{"compare", "Gateway / raw by row", "C", []string{row1 + " 0.94", row10 + " 0.5"}},
		{"compare", "Gateway / raw by row", "D", []string{row1 + " 1.1"}}, // 10 clients: a lower bound
		{"compare", "Finished cells", "A", []string{`{} 8`}},
		{"compare", "Finished cells", "B", []string{`{} 776`}},
		{"compare", "Finished cells", "C", []string{`{} 6`}},
		{"compare", "Finished cells", "D", []string{`{} 44`}},
		{"compare", "Finished cells", "E", []string{`{} 0.97`}},
		{"compare", "Cells", "A", []string{`{mode="1MiB", target="gateway"} 10`}},
		{"compare", "Received, and the link's ceiling", "B", []string{`{link="1gbit/40ms"} 1e+09`}},
		{"lab", "Bottlenecks of finished cells", "A", []string{`{by="link"} 8`}},
		{"lab", "What limits now", "B", []string{`{} 0.75`}}, // 1.5 of 2 CPUs, and not of the other lab's 64
		{"lab", "Servers", "A", []string{`{} 1`}},
		{"lab", "Servers", "B", []string{`{} 0`}},
		{"lab", "Servers", "C", []string{`{} 0`}}, // nothing scrapes it
		{"lab", "Memory", "A", []string{`{command="nginx"} 7`}},
		{"lab", "Backlog", "A", []string{`{} 5`}},
		{"lab", "CPU", "E", []string{`{} 2`}},
		{"runs", "Runs", "A", []string{`{run="a-new"} 0.71`, `{run="z-old"} 0.71`}},
		{"runs", "Runs", "B", []string{`{run="a-new"} 0.5`, `{run="z-old"} 0.5`}},
		{"runs", "Runs", "C", []string{`{run="a-new"} 8`, `{run="z-old"} 8`}},
		{"runs", "Runs", "G", []string{
			`piecebench_run_info{backend="kernel", piecebench="1", revision="rev-a-new", run="a-new", settings="CONNECTIONS=reuse"} 1`,
			`piecebench_run_info{backend="kernel", piecebench="1", revision="rev-z-old", run="z-old", settings="CONNECTIONS=new"} 1`,
		}},
		{"runs", "Run against baseline", "A", []string{`{concurrency="1", link="1gbit/40ms", mode="1MiB", target="gateway"} 1`, `{concurrency="1", link="1gbit/40ms", mode="1MiB", target="raw"} 1`,
			`{concurrency="10", link="1gbit/40ms", mode="1MiB", target="gateway"} 1`, `{concurrency="10", link="1gbit/40ms", mode="1MiB", target="raw"} 1`}},
	} {
		got := values(t, url, target(t, all, c.file, c.panel, c.ref), variables, from, end)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %s, query %s shows\n%s\nwant\n%s", c.file, c.panel, c.ref, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}

	t.Run("the rate does not overshoot the ceiling", func(t *testing.T) {
		got, err := dashboards.Result(t.Context(), url, target(t, all, "compare", "Received, and the link's ceiling", "A"), variables, begin, end)
		if err != nil || len(got.(model.Matrix)) != 1 {
			t.Fatal(got, err)
		}
		for _, v := range got.(model.Matrix)[0].Values[2:] { // two pushes make no average
			if v.Value < 0.9e9 || v.Value > 1.1e9 {
				t.Errorf("%.3g bit/s at %s, and k6 receives 1e9", v.Value, v.Timestamp.Time())
			}
		}
	})
	t.Run("runs are offered the newest first, the run itself as the last baseline", func(t *testing.T) {
		for _, c := range []struct{ variable, want string }{{"run", "a-new z-old"}, {"baseline", "z-old a-new"}} {
			for _, v := range all[slices.IndexFunc(all, func(d dashboards.Dashboard) bool { return d.File == "runs.json" })].Templating.List {
				if v.Name != c.variable {
					continue
				}
				expr := strings.TrimSuffix(strings.TrimPrefix(string(v.Query), "query_result("), ")")
				got, err := dashboards.Result(t.Context(), url, dashboards.Target{Expr: expr, Instant: true}, variables, from, end)
				if err != nil {
					t.Fatal(err)
				}
				var offered []string
				for _, s := range got.(model.Vector) {
					offered = append(offered, string(s.Metric["run"]))
				}
				if strings.Join(offered, " ") != c.want {
					t.Errorf("%s offers %q, want %s", c.variable, offered, c.want)
				}
			}
		}
	})
	t.Run("nothing limits after the run", func(t *testing.T) {
		later := end.Add(6 * time.Minute)
		if got := values(t, url, target(t, all, "lab", "What limits now", "B"), variables, begin, later); len(got) != 0 {
			t.Errorf("shows %q, and no cell runs", got)
		}
	})
}

func target(t *testing.T, all []dashboards.Dashboard, file, panel, ref string) dashboards.Target {
	t.Helper()
	for _, d := range all {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				if d.File == file+".json" && p.Title == panel && target.RefID == ref {
					return target
				}
			}
		}
	}
	t.Fatalf("%s has no panel %q with a query %s", file, panel, ref)
	return dashboards.Target{}
}

// values returns each series that a query returns, with its last value to four digits.
func values(t *testing.T, url string, target dashboards.Target, variables map[string]string, from, to time.Time) []string {
	t.Helper()
	result, err := dashboards.Result(t.Context(), url, target, variables, from, to)
	if err != nil {
		t.Fatalf("%s: %v", target.Expr, err)
	}
	var all []string
	switch r := result.(type) {
	case model.Vector:
		for _, s := range r {
			all = append(all, fmt.Sprintf("%s %.4g", s.Metric, float64(s.Value)))
		}
	case model.Matrix:
		for _, s := range r {
			all = append(all, fmt.Sprintf("%s %.4g", s.Metric, float64(s.Values[len(s.Values)-1].Value)))
		}
	}
	slices.Sort(all)
	return all
}
