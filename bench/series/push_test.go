package series_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	prompb "buf.build/gen/go/prometheus/prometheus/protocolbuffers/go"
	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/proto"

	"piecebench/bench/result"
	"piecebench/bench/series"
	"piecebench/records"
)

// receiver is a Prometheus as far as remote write goes.
type receiver struct {
	*httptest.Server
	status int // it answers with
	got    []*prompb.TimeSeries
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{status: http.StatusNoContent}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err == nil {
			body, err = snappy.Decode(nil, body)
		}
		var write prompb.WriteRequest
		if err == nil {
			err = proto.Unmarshal(body, &write)
		}
		if err != nil || request.URL.Path != "/api/v1/write" {
			t.Errorf("%s: %v", request.URL, err)
		}
		if r.status == http.StatusNoContent {
			r.got = append(r.got, write.Timeseries...)
		}
		w.WriteHeader(r.status)
	}))
	t.Cleanup(r.Close)
	return r
}

// lines returns what arrived since the last call, of the metrics whose name has
// the prefix: name{labels} value @time.
func (r *receiver) lines(prefix string) []string {
	var lines []string
	for _, s := range r.got {
		var labels []string
		for _, l := range s.Labels {
			labels = append(labels, l.Name+"="+l.Value)
		}
		if !slices.IsSorted(labels) {
			lines = append(lines, "labels not sorted")
		}
		name := strings.TrimPrefix(labels[0], "__name__=")
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		for _, v := range s.Samples {
			lines = append(lines, fmt.Sprintf("%s{%s} %g @%d", name, strings.Join(labels[1:], ","), v.Value, v.Timestamp))
		}
	}
	r.got = nil
	return lines
}

// warnings collects what the user is told.
type warnings []string

func (w *warnings) add(format string, args ...any) { *w = append(*w, fmt.Sprintf(format, args...)) }

func pusher(t *testing.T, url string) (*series.Pusher, *warnings) {
	t.Helper()
	said := new(warnings)
	p, err := series.NewPusher(url, said.add)
	if err != nil {
		t.Fatal(err)
	}
	return p, said
}

// cell is a cell that has just been measured.
func cell(id int) result.Cell {
	return result.Cell{ID: id, Target: "raw", Link: "1gbit/40ms", Mode: "1MiB", Concurrency: 10, Repetition: id,
		WindowStart: time.Now(), WindowS: 10, WindowBytes: 1e9, RequestsOK: 3}
}

const goodput = "piecebench_cell_goodput_bits_per_second"

func TestASeriesForEachFigureOfACell(t *testing.T) {
	r := newReceiver(t)
	p, _ := pusher(t, r.URL)
	started := time.UnixMilli(4102444800000) // in the future: not one of an earlier run
	cpu := 0.25
	p.Push(&result.Run{ID: "x", Cells: []result.Cell{{
		ID: 1, Target: "raw", Link: "1gbit/40ms", Mode: "full", Concurrency: 1000, Repetition: 2,
		WindowStart: started, WindowS: 10, WindowBytes: 1e9, DeliveredBytes: 1.1e9, CeilingBits: 1e9,
		RequestsOK: 3, RequestsCut: 4, Failed: map[records.Outcome]int{"short": 1},
		TTFB:         result.Quantiles{P50: &result.Quantile{Ms: 50}, P95: &result.Quantile{Ms: 2000, Bound: true}},
		GenCPUSPerGB: &cpu,
		Evidence:     &result.Evidence{Wire: &result.Wire{Bytes: 1.2375e9, Packets: 1e6, Seconds: 10}},
	}}}, 0)
	var got []string
	of := regexp.MustCompile(`concurrency=1000,|link=1gbit/40ms,mode=full,|repetition=2,run=x,target=raw`)
	for _, line := range r.lines("piecebench_cell_") {
		if len(of.FindAllString(line, -1)) != 3 {
			t.Errorf("not the cell's labels: %s", line)
		}
		got = append(got, of.ReplaceAllString(line, ""))
	}
	const end = " @4102444810000"
	want := []string{
		"piecebench_cell_goodput_bits_per_second{} 8e+08" + end,
		"piecebench_cell_delivered_bits_per_second{} 8.8e+08" + end,
		"piecebench_cell_link_share_ratio{} 0.8" + end,
		"piecebench_cell_wire_bits_per_second{} 9.9e+08" + end,
		"piecebench_cell_wire_overhead_ratio{} 0.125" + end,
		"piecebench_cell_success_ratio{} 0.75" + end,
		"piecebench_cell_requests{outcome=ok,} 3" + end,
		"piecebench_cell_requests{outcome=cut,} 4" + end,
		"piecebench_cell_requests{outcome=connect,} 0" + end,
		"piecebench_cell_requests{outcome=reset,} 0" + end,
		"piecebench_cell_requests{outcome=timeout,} 0" + end,
		"piecebench_cell_requests{outcome=stalled,} 0" + end,
		"piecebench_cell_requests{outcome=status,} 0" + end,
		"piecebench_cell_requests{outcome=range,} 0" + end,
		"piecebench_cell_requests{outcome=short,} 1" + end,
		"piecebench_cell_requests{outcome=corrupt,} 0" + end,
		"piecebench_cell_ttfb_seconds{bound=exact,quantile=0.5,} 0.05" + end,
		"piecebench_cell_ttfb_seconds{bound=lower,quantile=0.95,} 2" + end,
		"piecebench_cell_generator_cpu_seconds_per_gigabyte{} 0.25" + end,
		"piecebench_cell_limited_by{by=unknown,} 1" + end,
		"piecebench_cell_window_start_timestamp_seconds{} 4.1024448e+09" + end,
		"piecebench_cell_window_end_timestamp_seconds{} 4.10244481e+09" + end,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestEachCellIsSentOnce(t *testing.T) {
	r := newReceiver(t)
	run := &result.Run{ID: "x", Cells: []result.Cell{cell(1)}}
	run.Cells[0].WindowStart = time.Now().Add(-time.Minute) // measured before the run was resumed
	p, said := pusher(t, r.URL)
	for i, want := range []int{0, 1, 0, 2} {
		for range want {
			run.Cells = append(run.Cells, cell(len(run.Cells)+1))
		}
		if !p.Push(run, 0) {
			t.Fatalf("push %d failed: %v", i, *said)
		}
		if got := r.lines(goodput); len(got) != want {
			t.Errorf("push %d sent %d cells, want %d: %v", i, len(got), want, got)
		}
	}
}

func TestWhatCouldNotBeSentGoesWithTheNextPushAndThereIsOneWarning(t *testing.T) {
	r := newReceiver(t)
	p, said := pusher(t, r.URL)
	run := &result.Run{ID: "x"}
	r.status = http.StatusInternalServerError
	for i := range 3 {
		run.Cells = append(run.Cells, cell(i+1))
		if p.Push(run, 0) {
			t.Fatal("a push that was refused passed for good")
		}
	}
	if len(*said) != 1 || !strings.HasPrefix((*said)[0], "warning: ") || !strings.Contains((*said)[0], r.URL) {
		t.Errorf("the user was told %q; want one warning that names %s", *said, r.URL)
	}
	r.status = http.StatusNoContent
	if !p.Push(run, 0) {
		t.Fatal("still failing")
	}
	if got := r.lines(goodput); len(got) != 3 {
		t.Errorf("sent %v, want the 3 cells that were refused before", got)
	}
	if len(*said) != 2 || !strings.Contains((*said)[1], "again") {
		t.Errorf("the user was told %q; want that it works again", *said)
	}
}

func TestLinksAndTheRunAreSentWithEveryPush(t *testing.T) {
	r := newReceiver(t)
	p, _ := pusher(t, r.URL)
	run := &result.Run{ID: "x", Piecebench: "1", Started: time.Unix(1e9, 0), Planned: 24,
		Fingerprint:  map[string]string{"kernel": "6.1", "revision": "abc"},
		Settings:     map[string]string{"RUNTIME": "native", "WARMUP": "2s", "CONNECTIONS": "fresh", "PROFILE": ""},
		Calibrations: []result.Calibration{{Link: "1gbit/40ms", Backend: "kernel", CeilingBits: 955e6, IdleRTTMs: 40.2}}}
	for range 2 {
		p.Push(run, 90*time.Second)
		var got []string
		for _, line := range r.lines("piecebench_") {
			series, _, _ := strings.Cut(line, " @")
			if name, end, cut := strings.Cut(series, "expected_end_timestamp_seconds{run=x} "); cut {
				at, err := strconv.ParseFloat(end, 64)
				if left := at - float64(time.Now().Unix()); err != nil || left < 0 || left > 91 {
					t.Errorf("the sweep ends in %v s, want 90 or, later, less", left)
				}
				series = name + "end"
			}
			got = append(got, series)
		}
		want := []string{
			"piecebench_run_info{backend=kernel,kernel=6.1,piecebench=1,revision=abc,run=x,runtime=native,settings=CONNECTIONS=fresh WARMUP=2s} 1",
			"piecebench_run_started_timestamp_seconds{run=x} 1e+09",
			"piecebench_run_planned_cells{run=x} 24",
			"piecebench_run_end",
			"piecebench_link_ceiling_bits_per_second{link=1gbit/40ms,run=x} 9.55e+08",
			"piecebench_link_rtt_seconds{link=1gbit/40ms,run=x} 0.0402",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v\nwant %v", got, want)
		}
	}
}

func TestWithoutPrometheusNothingIsSentAndNothingSaid(t *testing.T) {
	p, said := pusher(t, "")
	if p.Push(&result.Run{}, 0) || len(*said) != 0 {
		t.Errorf("said %q", *said)
	}
}
