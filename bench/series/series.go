// Package series sends the results of a run to Prometheus, so that dashboards can show and
// compare runs after their end. Units are Prometheus' base units: seconds, bytes, ratios. Rates
// are bits per second.
package series

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	prompb "buf.build/gen/go/prometheus/prometheus/protocolbuffers/go"

	"piecebench/bench/compare"
	"piecebench/bench/result"
	"piecebench/records"
)

// unknownLimit is the label where the bottleneck is not known: a label cannot be empty.
const unknownLimit = "unknown"

// ofCell returns the series of a finished cell, with one sample each at the end of its window. A
// figure that does not exist has no series.
func ofCell(run string, c result.Cell) []*prompb.TimeSeries {
	b := batch{prefix: "piecebench_cell_", at: c.WindowEnd(), labels: map[string]string{
		"run": run, "target": c.Target, "link": c.Link, "mode": c.Mode,
		"concurrency": strconv.Itoa(c.Concurrency), "repetition": strconv.Itoa(c.Repetition),
	}}
	b.add("goodput_bits_per_second", c.GoodputBits())
	b.add("delivered_bits_per_second", c.DeliveredBits())
	if share, ok := c.LinkShare(); ok {
		b.add("link_share_ratio", share)
	}
	if bytes, ok := c.WireBytes(); ok {
		b.add("wire_bits_per_second", bytes*8/c.WindowS)
	}
	if overhead, ok := c.WireOverhead(); ok {
		b.add("wire_overhead_ratio", overhead)
	}
	if rate, ok := c.SuccessRate(); ok {
		b.add("success_ratio", rate)
	}
	for _, o := range records.Outcomes { // all, so that a dashboard shows 0 where nothing failed
		n := int64(c.Failed[o])
		switch o {
		case records.OK:
			n = c.RequestsOK
		case records.Cut:
			n = c.RequestsCut
		}
		b.add("requests", float64(n), "outcome", string(o))
	}
	b.quantiles("ttfb_seconds", c.TTFB)
	b.quantiles("duration_seconds", c.Duration)
	if c.ServerCPUSPerGB != nil {
		b.add("server_cpu_seconds_per_gigabyte", *c.ServerCPUSPerGB)
	}
	if c.GenCPUSPerGB != nil {
		b.add("generator_cpu_seconds_per_gigabyte", *c.GenCPUSPerGB)
	}
	if c.ServerRSSMB != nil {
		b.add("server_memory_bytes", *c.ServerRSSMB*1e6)
	}
	limit := c.LimitedBy
	if limit == "" {
		limit = unknownLimit
	}
	b.add("limited_by", 1, "by", limit)
	b.add("window_start_timestamp_seconds", seconds(c.WindowStart))
	b.add("window_end_timestamp_seconds", seconds(c.WindowEnd()))
	return b.series
}

// ofRun returns the series that describe a run and its calibrated links, as of now. They are sent
// again before each cell, with when the sweep ends, which takes left.
func ofRun(run *result.Run, now time.Time, left time.Duration) []*prompb.TimeSeries {
	info := map[string]string{
		"run":        run.ID,
		"piecebench": run.Piecebench,
		"runtime":    run.Settings["RUNTIME"],
		"kernel":     run.Fingerprint["kernel"],
		"cpus":       run.Fingerprint["cpus"],
		"revision":   run.Fingerprint["revision"],
		"settings":   settingsOf(run),
		"congestion": cmp.Or(run.Fingerprint["congestion control of the servers"], run.Fingerprint["net.ipv4.tcp_congestion_control"]),
	}
	for _, c := range run.Calibrations {
		if c.Backend != "" {
			info["backend"] = c.Backend // an agent has one
		}
	}
	b := batch{prefix: "piecebench_run_", at: now, labels: info}
	b.add("info", 1)
	all := b.series
	progress := batch{prefix: "piecebench_run_", at: now, labels: map[string]string{"run": run.ID}}
	progress.add("started_timestamp_seconds", seconds(run.Started))
	progress.add("planned_cells", float64(run.Planned))
	if left > 0 {
		progress.add("expected_end_timestamp_seconds", seconds(now.Add(left)))
	}
	all = append(all, progress.series...)
	for _, c := range run.Calibrations {
		b := batch{prefix: "piecebench_link_", at: now, labels: map[string]string{"run": run.ID, "link": c.Link}}
		b.add("ceiling_bits_per_second", float64(c.CeilingBits))
		b.add("rtt_seconds", c.IdleRTTMs/1000)
		all = append(all, b.series...)
	}
	return all
}

// ofRows returns the intervals of the goodput of every other target over that of raw, by row,
// as of now. A row with too few repetitions has none.
func ofRows(run *result.Run, now time.Time) (all []*prompb.TimeSeries) {
	for _, row := range run.Rows() {
		for _, target := range run.Targets() {
			e := compare.Goodput.Of(row.Cells["raw"], row.Cells[target])
			if target == "raw" || !e.Interval {
				continue
			}
			b := batch{prefix: "piecebench_row_", at: now, labels: map[string]string{
				"run": run.ID, "target": target, "link": row.Link, "mode": row.Mode, "concurrency": strconv.Itoa(row.Concurrency),
			}}
			b.add("goodput_ratio", 1+e.Low, "end", "low")
			b.add("goodput_ratio", 1+e.High, "end", "high")
			all = append(all, b.series...)
		}
	}
	return all
}

// settingsOf returns the settings by which two runs differ beside their cells' own labels,
// as NAME=VALUE in the order of their names. Those that are empty are left out.
func settingsOf(run *result.Run) string {
	var of []string
	for _, name := range []string{"CACHE", "CONNECTIONS", "DURATION", "PIECES", "PIECE_SIZE", "PROFILE", "REPEAT", "REQUESTS", "SEED", "WARMUP", "WORKLOAD"} {
		if value := run.Settings[name]; value != "" {
			of = append(of, name+"="+value)
		}
	}
	return strings.Join(of, " ")
}

// batch collects series with the same prefix, labels and time.
type batch struct {
	prefix string
	at     time.Time
	labels map[string]string
	series []*prompb.TimeSeries
}

// add adds a series of one sample; more are names and values of further labels.
func (b *batch) add(name string, value float64, more ...string) {
	labels := maps.Clone(b.labels)
	labels["__name__"] = b.prefix + name
	for i := 0; i < len(more); i += 2 {
		labels[more[i]] = more[i+1]
	}
	s := &prompb.TimeSeries{Samples: []*prompb.Sample{{Value: value, Timestamp: b.at.UnixMilli()}}}
	for _, name := range slices.Sorted(maps.Keys(labels)) { // the protocol wants them sorted
		if labels[name] != "" { // which is the same as no label
			s.Labels = append(s.Labels, &prompb.Label{Name: name, Value: labels[name]})
		}
	}
	b.series = append(b.series, s)
}

// quantiles adds those that exist. A label marks lower bounds.
func (b *batch) quantiles(name string, q result.Quantiles) {
	for _, one := range []struct {
		quantile string
		value    *result.Quantile
	}{{"0.5", q.P50}, {"0.95", q.P95}, {"0.99", q.P99}} {
		if one.value == nil {
			continue
		}
		bound := "exact"
		if one.value.Bound {
			bound = "lower"
		}
		b.add(name, one.value.Ms/1000, "quantile", one.quantile, "bound", bound)
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
