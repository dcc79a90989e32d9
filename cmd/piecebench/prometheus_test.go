package main_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"piecebench/bench/result"
	"piecebench/dashboards"
	"piecebench/lab/labtest"
	"piecebench/records"
)

// api asks Prometheus' API and returns the answer's data.
func api[T any](t *testing.T, prometheus, path string, values url.Values) T {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // and no proxy
	response, err := client.Get(prometheus + path + "?" + values.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Error string
		Data  T
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Error != "" {
		t.Fatalf("%s %v: %v %s", path, values, err, answer.Error)
	}
	return answer.Data
}

// point is a time in seconds and a value.
type point [2]float64

func (p *point) UnmarshalJSON(data []byte) error {
	var text string
	into := []any{&p[0], &text}
	if err := json.Unmarshal(data, &into); err != nil {
		return err
	}
	value, err := strconv.ParseFloat(text, 64)
	p[1] = value
	return err
}

// found is one series of a query's result: Value of an instant vector, Values
// of a range.
type found struct {
	Metric map[string]string
	Value  point
	Values []point
}

func query(t *testing.T, prometheus, expression string) []found {
	t.Helper()
	return api[struct{ Result []found }](t, prometheus, "/api/v1/query", url.Values{"query": {expression}}).Result
}

// only returns the value of an expression that must have one.
func only(t *testing.T, prometheus, expression string) float64 {
	t.Helper()
	result := query(t, prometheus, expression)
	if len(result) != 1 {
		t.Errorf("%s has %d results, want one: %v", expression, len(result), result)
		return math.NaN()
	}
	return result[0].Value[1]
}

// selector selects the series of a cell; more are further matchers.
func selector(run *result.Run, c result.Cell, more ...string) string {
	return "{" + strings.Join(append([]string{
		fmt.Sprintf(`run="%s",target="%s",link="%s",mode="%s"`, run.ID, c.Target, c.Link, c.Mode),
		fmt.Sprintf(`concurrency="%d",repetition="%d"`, c.Concurrency, c.Repetition),
	}, more...), ",") + "}"
}

func TestASweepIsInPrometheus(t *testing.T) {
	dir, prometheus := runSweep(t)
	run, err := result.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Cells) != 8 {
		t.Fatalf("%d cells, want 8", len(run.Cells))
	}

	t.Run("finished cells, once each and at their end", func(t *testing.T) {
		for _, c := range run.Cells {
			// Headers are 4.6 %. What is under way at the ends of a short window blurs that.
			overhead, ok := c.WireOverhead()
			if !ok || overhead < 0 || overhead > 0.12 {
				t.Errorf("cell %d: the wire bytes are %.3f more than the payload: %+v", c.ID, overhead, c.Evidence.Wire)
			}
			for series, want := range map[string]float64{
				"wire_overhead_ratio" + selector(run, c):                overhead,
				"goodput_bits_per_second" + selector(run, c):            c.GoodputBits(),
				"delivered_bits_per_second" + selector(run, c):          c.DeliveredBits(),
				"requests" + selector(run, c, `outcome="ok"`):           float64(c.RequestsOK),
				"requests" + selector(run, c, `outcome="cut"`):          float64(c.RequestsCut),
				"requests" + selector(run, c, `outcome="corrupt"`):      0,
				"ttfb_seconds" + selector(run, c, `quantile="0.5"`):     c.TTFB.P50.Ms / 1000,
				"duration_seconds" + selector(run, c, `quantile="0.5"`): c.Duration.P50.Ms / 1000,
				"server_cpu_seconds_per_gigabyte" + selector(run, c):    *c.ServerCPUSPerGB,
				"generator_cpu_seconds_per_gigabyte" + selector(run, c): *c.GenCPUSPerGB,
				"server_memory_bytes" + selector(run, c):                *c.ServerRSSMB * 1e6,
				"link_share_ratio" + selector(run, c):                   c.GoodputBits() / float64(c.CeilingBits),
				"success_ratio" + selector(run, c):                      1,
				"limited_by" + selector(run, c):                         1,
				"window_start_timestamp_seconds" + selector(run, c):     float64(c.WindowStart.UnixNano()) / 1e9,
				"window_end_timestamp_seconds" + selector(run, c):       float64(c.WindowEnd().UnixNano()) / 1e9,
			} {
				result := query(t, prometheus, "piecebench_cell_"+series+"[1h]")
				if len(result) != 1 || len(result[0].Values) != 1 {
					t.Errorf("%s: %v, want one series with one value", series, result)
					continue
				}
				end := float64(c.WindowEnd().UnixMilli()) / 1000
				if got := result[0].Values[0]; got[1] != want || got[0] != end {
					t.Errorf("%s: %v at %v, want %v at %v", series, got[1], got[0], want, end)
				}
			}
		}
	})
	t.Run("the run and its links", func(t *testing.T) {
		for _, c := range run.Calibrations {
			of := fmt.Sprintf(`{run="%s",link="%s"}[1h])`, run.ID, c.Link)
			if got := only(t, prometheus, "last_over_time(piecebench_link_ceiling_bits_per_second"+of); got != float64(c.CeilingBits) {
				t.Errorf("ceiling %v, want %v", got, c.CeilingBits)
			}
			if got := only(t, prometheus, "last_over_time(piecebench_link_rtt_seconds"+of); got != c.IdleRTTMs/1000 {
				t.Errorf("RTT %v s, want %v ms", got, c.IdleRTTMs)
			}
			only(t, prometheus, fmt.Sprintf(`last_over_time(piecebench_run_info{run="%s",backend="%s"}[1h])`, run.ID, c.Backend))
		}
	})
	t.Run("k6 counts every request that ended, and every byte", func(t *testing.T) {
		for _, c := range run.Cells {
			ended, bytes := 0, int64(0)
			ttfb := []float64{}
			rows, err := records.Open(filepath.Join(dir, c.Records))
			if err != nil {
				t.Fatal(err)
			}
			for row, err := range rows.Rows() {
				if err != nil {
					t.Fatal(err)
				}
				bytes += row.Bytes
				if row.Outcome != records.Cut {
					ended++
					ttfb = append(ttfb, float64(row.TTFBNs)/1e9)
				}
			}
			if got := only(t, prometheus, "sum(max_over_time(k6_http_reqs_total"+selector(run, c)+"[1h]))"); got != float64(ended) {
				t.Errorf("cell %d: k6_http_reqs_total %v, want %d", c.ID, got, ended)
			}
			// k6 counts the responses' heads, too.
			if got := only(t, prometheus, "sum(max_over_time(k6_data_received_total"+selector(run, c)+"[1h]))"); got < float64(bytes) || got > 1.01*float64(bytes)+1e5 {
				t.Errorf("cell %d: k6_data_received_total %v, want a little more than %d", c.ID, got, bytes)
			}
			// A bucket is 10 % wide at most. Debian's Prometheus has no last_over_time of
			// native histograms, and a short cell may be one push, which has no rate: the
			// last instant at which the series is alive shows all of it.
			got := math.NaN()
			for at := c.WindowEnd().Add(10 * time.Second); math.IsNaN(got) && at.After(c.WindowStart); at = at.Add(-100 * time.Millisecond) {
				for _, found := range query(t, prometheus, fmt.Sprintf("histogram_quantile(0.5, sum(k6_http_req_waiting_seconds%s @ %d.%03d))", selector(run, c), at.Unix(), at.UnixMilli()%1000)) {
					got = found.Value[1]
				}
			}
			if low, high := slices.Min(ttfb), slices.Max(ttfb); !(got >= low/1.1 && got <= high*1.1) {
				t.Errorf("cell %d: median of the native histogram %v s, requests have %v to %v", c.ID, got, low, high)
			}
		}
	})
	t.Run("every query of the dashboards returns data", func(t *testing.T) {
		if err := dashboards.Check(t.Context(), prometheus, run.ID); err != nil {
			t.Error(err)
		}
		if err := dashboards.Check(t.Context(), prometheus, "another"); err == nil || !strings.Contains(err.Error(), "no finished cell of run another") {
			t.Errorf("the check of a run that Prometheus does not have says %v", err)
		}
	})
	t.Run("nothing of k6's looks alive after its cell", func(t *testing.T) {
		if left := query(t, prometheus, `{__name__=~"k6_.*"}`); len(left) != 0 {
			t.Errorf("%d series without an end, such as %v", len(left), left[0].Metric)
		}
	})
	t.Run("labels are bounded", func(t *testing.T) {
		got := api[[]string](t, prometheus, "/api/v1/labels", url.Values{"match[]": {`{__name__=~"k6_.*"}`}})
		want := []string{"__name__", "concurrency", "expected_response", "link", "mode", "outcome", "repetition", "run", "status", "target", "testid"}
		if !slices.Equal(got, want) {
			t.Errorf("labels of k6's series %v, want %v", got, want)
		}
		// Every request was answered with the one right status.
		series := api[[]map[string]string](t, prometheus, "/api/v1/series", url.Values{"match[]": {"k6_http_req_duration_seconds"}})
		if len(series) != len(run.Cells) {
			t.Errorf("%d series of k6_http_req_duration_seconds for %d cells: %v", len(series), len(run.Cells), series)
		}
	})
}

// pieces serves the dataset of a manifest, as a server of the user's own.
func pieces(t *testing.T, manifest string) string {
	flat := http.FileServer(http.Dir(filepath.Join(filepath.Dir(manifest), "flat")))
	server := httptest.NewServer(http.StripPrefix("/piece/", flat))
	t.Cleanup(server.Close)
	return server.URL + "/piece/{piece}"
}

func TestAPrometheusThatFailsCostsAWarningAndNothingElse(t *testing.T) {
	p := newProgram(t, "k6")
	data := manifest(t)
	own := pieces(t, data)
	answer := func(status int) func(*testing.T) string {
		return func(t *testing.T) string {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
			t.Cleanup(server.Close)
			return server.URL
		}
	}
	for _, c := range []struct {
		name  string
		make  func(*testing.T) string // returns its URL
		says  string
		links int // printed: one where a push was taken, none after one that was not
	}{
		{"refuses connections", func(t *testing.T) string { return fmt.Sprintf("http://127.0.0.1:%d", labtest.FreePort(t)) }, "refused", 0},
		{"answers 500", answer(http.StatusInternalServerError), "500", 0},
		{"takes no remote write", answer(http.StatusNotFound), "--web.enable-remote-write-receiver", 0},
		{"never answers", func(t *testing.T) string { return blackHole(t, 0) }, "exceeded", 0},
		{"stops answering while a cell runs", func(t *testing.T) string { return blackHole(t, 2) }, "exceeded", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "run")
			cmd := p.command("run", "--targets", "mine="+own, "--links", "none", "--modes", "1MiB", "--concurrency", "2,3",
				"--duration", "2s", "--warmup", "500ms", "--manifest", data, "--out", out)
			cmd.Env = append(cmd.Env, "PROMETHEUS_URL="+c.make(t), "GRAFANA_URL=http://127.0.0.1:3000")
			printed, err := cmd.CombinedOutput()
			ended := time.Now()
			if err != nil {
				t.Fatalf("%v\n%s", err, printed)
			}
			if strings.Count(string(printed), "warning: ") != 1 || !strings.Contains(string(printed), c.says) {
				t.Errorf("want one warning with %q:\n%s", c.says, printed)
			}
			// It would lead to a dashboard without data.
			if links := strings.Count(string(printed), "dashboard: "); links != c.links {
				t.Errorf("%d links to a dashboard, want %d:\n%s", links, c.links, printed)
			}
			cells := rows(t, filepath.Join(out, "cells.csv"))
			if len(cells) != 2 {
				t.Fatalf("%d cells, want 2", len(cells))
			}
			for _, cell := range cells {
				if cell["success_rate"] != "1" || cell["window_s"] != "2" {
					t.Errorf("cell %s: success rate %s in a window of %s s", cell["cell"], cell["success_rate"], cell["window_s"])
				}
			}
			// k6 alone would wait for up to three pushes of 5 s. The last cell's
			// records are complete when the window ends.
			records, err := filepath.Glob(filepath.Join(out, "requests", "002-*.parquet"))
			if err != nil || len(records) != 1 {
				t.Fatal(records, err)
			}
			info, err := os.Stat(records[0])
			if err != nil {
				t.Fatal(err)
			}
			if waited := ended.Sub(info.ModTime()); waited > 9*time.Second {
				t.Errorf("the run went on for %s after its last request", waited)
			}
		})
	}
}

// blackHole is a Prometheus that takes so many requests and answers no further
// one.
func blackHole(t *testing.T, takes int64) string {
	var n atomic.Int64
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) > takes {
			<-gone
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(func() {
		close(gone)
		server.Close()
	})
	return server.URL
}
