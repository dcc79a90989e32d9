package dashboards_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"os"
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
	cmd := exec.Command("prometheus", "--config.file=/dev/null", "--storage.tsdb.path="+dir, "--web.listen-address="+address, "--web.enable-remote-write-receiver", "--enable-feature=native-histograms")
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

// measured is a run of twelve cells: raw and gateway, 1 and 10 clients, three repetitions. share
// is the part that it got of what the faster run got.
func measured(id string, started time.Time, share float64, connections string) *result.Run {
	run := &result.Run{
		ID: id, Started: started, Planned: 24, Piecebench: "1",
		Fingerprint: map[string]string{"revision": "rev-" + id}, Settings: map[string]string{"CONNECTIONS": connections},
		Calibrations: []result.Calibration{{Link: "1gbit/40ms", Backend: "kernel", CeilingBits: 1e9, IdleRTTMs: 40}},
	}
	serverCPU, k6CPU, memory := 0.5, 0.25, 10.0
	for _, c := range []struct {
		target      string
		clients     int
		goodput     [3]float64 // Mbit/s of the repetitions
		ttfb        float64    // p95 in ms
		bound       bool
		failed, cut int64
	}{
		{"raw", 1, [3]float64{100, 100, 100}, 40, false, 0, 1},
		{"gateway", 1, [3]float64{90, 94, 92}, 44, false, 0, 1},
		{"raw", 10, [3]float64{200, 200, 200}, 50, false, 0, 10},
		{"gateway", 10, [3]float64{98, 100, 102}, 500, true, 3, 10},
	} {
		for i, mbit := range c.goodput {
			run.Cells = append(run.Cells, result.Cell{
				ID: len(run.Cells) + 1, Target: c.target, Link: "1gbit/40ms", Mode: "1MiB", Concurrency: c.clients, Repetition: i + 1,
				WindowStart: started.Add(time.Duration(len(run.Cells)) * 2 * time.Second), WindowS: 1,
				WindowBytes: int64(mbit * share * 1e6 / 8), DeliveredBytes: int64(mbit * share * 1e6 / 8), CeilingBits: 1e9,
				RequestsOK: 97, RequestsCut: c.cut, Failed: map[records.Outcome]int{records.Status: int(c.failed)},
				TTFB:            result.Quantiles{P50: &result.Quantile{Ms: c.ttfb / 2}, P95: &result.Quantile{Ms: c.ttfb, Bound: c.bound}},
				ServerCPUSPerGB: &serverCPU, GenCPUSPerGB: &k6CPU, ServerRSSMB: &memory, LimitedBy: "link",
				Evidence: &result.Evidence{Wire: &result.Wire{Bytes: int64(mbit * share * 1.05e6 / 8), Packets: 1e6, Seconds: 1}},
			})
		}
	}
	return run
}

func with(labels map[string]string, name, value string) map[string]string {
	labels = maps.Clone(labels)
	labels[name] = value
	return labels
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
	// A pusher sends no cells of before it was made.
	begin := time.Now().Add(30 * time.Second).Truncate(time.Second)
	end := begin.Add(50 * time.Second)
	for _, run := range []*result.Run{
		measured("z-old", begin, 0.5, "fresh"), measured("a-new", begin.Add(20*time.Second), 1, "reuse"),
		{ID: "m-refused", Started: begin.Add(10 * time.Second), Planned: 24, Calibrations: []result.Calibration{{Link: "1gbit/40ms", CeilingBits: 1}}},
	} {
		pusher, err := series.NewPusher(url, t.Logf)
		if err != nil || !pusher.Push(run, 3*time.Minute) {
			t.Fatal("not pushed", err)
		}
	}
	client, err := remote.NewWriteClient(series.WriteURL(url), &remote.HTTPConfig{Timeout: 10 * time.Second, TLSConfig: &tls.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	// A cell runs at the end. k6 receives 1 Gbit/s; each second push says so 0.3 s late.
	cell := map[string]string{"run": "a-new", "target": "gateway", "link": "1gbit/40ms", "mode": "1MiB", "concurrency": "10", "repetition": "1"}
	var received, clients [][2]float64
	for s := 38.0; s <= 50; s++ {
		received, clients = append(received, [2]float64{s, (s + 0.3*math.Mod(s, 2)) * 1e9 / 8}), append(clients, [2]float64{s, 10})
	}
	per := func(second float64) (counter [][2]float64) {
		for _, c := range clients {
			counter = append(counter, [2]float64{c[0], second * c[0]})
		}
		return counter
	}
	none := map[string]string{}
	// One a second ends, all in the bucket from 0.5 to 1 s.
	histograms := func(labels map[string]string, name string, mean float64) *prompb.TimeSeries {
		s := samples(begin, labels, name)
		for _, c := range clients {
			s.Histograms = append(s.Histograms, &prompb.Histogram{
				Timestamp: begin.Add(time.Duration(c[0]) * time.Second).UnixMilli(), Count: &prompb.Histogram_CountInt{CountInt: uint64(c[0])}, Sum: mean * c[0],
				ZeroCount: &prompb.Histogram_ZeroCountInt{}, PositiveSpans: []*prompb.BucketSpan{{Offset: 0, Length: 1}}, PositiveDeltas: []int64{int64(c[0])},
			})
		}
		return s
	}
	done := with(cell, "outcome", "ok")
	other := map[string]string{"instance": "the lab before"}
	if err := client.Store(context.Background(), []*prompb.TimeSeries{
		samples(begin, cell, "k6_vus", clients...), samples(begin, cell, "k6_vus_max", clients...), samples(begin, cell, "k6_data_received_total", received...),
		samples(begin, none, "netem_host_cpus", [2]float64{49, 2}), samples(begin, none, "netem_host_cpu_busy_seconds_total", per(1.5)...),
		samples(begin, other, "netem_host_cpus", [2]float64{20, 64}), samples(begin, other, "netem_backlog_bytes", [2]float64{20, 1e9}), samples(begin, none, "netem_backlog_bytes", [2]float64{49, 5}),
		samples(begin, none, "nginx_up", [2]float64{49, 1}), samples(begin, map[string]string{"job": "gateway"}, "up", [2]float64{49, 0}),
		samples(begin, map[string]string{"command": "nginx"}, "netem_server_memory_bytes", [2]float64{49, 7}),
		histograms(with(cell, "expected_response", "true"), "k6_http_req_waiting_seconds", 1), samples(begin, done, "k6_http_reqs_total", per(6)...),
		histograms(done, "k6_job_duration_seconds", 1), histograms(with(done, "stage", "download"), "k6_stage_duration_seconds", 0.6), histograms(with(done, "stage", "verify"), "k6_stage_duration_seconds", 0.25),
		samples(begin, done, "k6_jobs_total", per(1)...), samples(begin, with(cell, "outcome", "status"), "k6_jobs_total", per(2)...),
		samples(begin, none, "netem_tcp_retransmitted_segments_total", per(7)...),
		samples(begin, cell, "k6_process_cpu_seconds_total", per(0.75)...), samples(begin, cell, "k6_process_resident_memory_bytes", [2]float64{49, 9}),
		samples(begin, none, "netem_sent_bytes_total", per(1e8/8)...), samples(begin, map[string]string{"backend": "userspace"}, "netem_link_rate_bits", [2]float64{49, 2e8}),
		samples(begin, map[string]string{"backend": "userspace"}, "netem_link_delay_seconds", [2]float64{49, 0.04}),
		samples(begin, none, "netem_dropped_packets_total", per(2)...), samples(begin, none, "netem_lost_packets_total", per(1)...), samples(begin, none, "netem_line_dropped_packets_total", per(3)...),
		samples(begin, map[string]string{"le": "0.001"}, "netem_line_lateness_seconds_bucket", per(10)...), samples(begin, map[string]string{"le": "+Inf"}, "netem_line_lateness_seconds_bucket", per(10)...),
		samples(begin, none, "netem_agent_cpu_seconds_total", per(0.25)...), samples(begin, map[string]string{"command": "nginx"}, "netem_server_cpu_seconds_total", per(0.5)...),
		samples(begin, none, "nginx_connections_active", [2]float64{49, 10}), samples(begin, none, "piece_gateway_connections", [2]float64{49, 11}),
		samples(begin, none, "nginx_http_requests_total", per(4)...), samples(begin, map[string]string{"code": "206"}, "piece_gateway_requests_total", per(5)...),
		samples(begin, map[string]string{"le": "0.01"}, "piece_gateway_store_read_seconds_bucket", per(8)...), samples(begin, map[string]string{"le": "+Inf"}, "piece_gateway_store_read_seconds_bucket", per(8)...),
		samples(begin, map[string]string{"cause": "client"}, "piece_gateway_aborted_responses_total", per(1)...),
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
	t.Run("every query of every panel", func(t *testing.T) {
		var got []string
		for _, d := range all {
			for _, p := range d.Panels {
				for _, q := range p.Targets {
					if p.Title == "Now" && q.RefID == "C" {
						continue // depends on when the run was pushed: see below
					}
					for _, v := range values(t, url, q, variables, from, end, begin) {
						got = append(got, fmt.Sprintf("%s | %s %s | %s", d.Title, p.Title, q.RefID, v))
					}
				}
			}
		}
		golden, err := os.ReadFile("testdata/values.txt")
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(strings.TrimSpace(string(golden)), "\n")
		for _, line := range got {
			if !slices.Contains(want, line) {
				t.Errorf("shows     %s", line)
			}
		}
		for _, line := range want {
			if !slices.Contains(got, line) {
				t.Errorf("lacks     %s", line)
			}
		}
	})
	t.Run("what is left", func(t *testing.T) {
		got, err := dashboards.Result(t.Context(), url, target(t, all, "compare", "Now", "C"), variables, from, end)
		if v := got.(model.Vector); err != nil || len(v) != 1 || v[0].Value <= 0 || v[0].Value > 180 {
			t.Errorf("%v s are left, want some of three minutes", got)
		}
	})
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
		if got := values(t, url, target(t, all, "lab", "What limits now", "B"), variables, begin, later, begin); len(got) != 0 {
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

// values returns each series that a query returns, without the labels that all cells have
// in common, and its last value to four digits. Times are relative to begin.
func values(t *testing.T, url string, target dashboards.Target, variables map[string]string, from, to, begin time.Time) []string {
	t.Helper()
	result, err := dashboards.Result(t.Context(), url, target, variables, from, to)
	if err != nil {
		t.Fatalf("%s: %v", target.Expr, err)
	}
	var all []string
	show := func(m model.Metric, v model.SampleValue) {
		value := fmt.Sprintf("%.4g", float64(v))
		switch {
		case strings.Contains(target.Expr, "histogram_quantile") && strings.Contains(target.Expr, "k6_") && v > 0.5 && v <= 1:
			value = "in its bucket" // Prometheus 3 interpolates in another way
		case v > 1e12:
			value = fmt.Sprintf("begin + %s", time.UnixMilli(int64(v)).Sub(begin))
		}
		all = append(all, strings.NewReplacer(`link="1gbit/40ms", mode="1MiB", `, "").Replace(m.String())+" "+value)
	}
	switch r := result.(type) {
	case model.Vector:
		for _, s := range r {
			show(s.Metric, s.Value)
		}
	case model.Matrix:
		for _, s := range r {
			if n := len(s.Histograms); n > 0 {
				all = append(all, fmt.Sprintf("%s %.4g in %d bucket", s.Metric, float64(s.Histograms[n-1].Histogram.Count), len(s.Histograms[n-1].Histogram.Buckets)))
				continue
			}
			show(s.Metric, s.Values[len(s.Values)-1].Value)
		}
	}
	slices.Sort(all)
	return all
}
