package result

import (
	"bytes"
	"encoding/csv"
	"path/filepath"
	"strconv"
	"strings"

	"piecebench/internal/wholefile"
	"piecebench/records"
)

// CellsFile is the name of a run's table in its folder.
const CellsFile = "cells.csv"

// column is one column of cells.csv: its name, which others rely on, and
// the cell's value, empty where it does not exist.
type column struct {
	name  string
	value func(Cell) string
}

// columns in the order of the file. Rates have three decimals of Mbit/s,
// times three of a millisecond, shares six.
var columns = []column{
	{"cell", func(c Cell) string { return strconv.Itoa(c.ID) }},
	{"target", func(c Cell) string { return c.Target }},
	{"link", func(c Cell) string { return c.Link }},
	{"mode", func(c Cell) string { return c.Mode }},
	{"concurrency", func(c Cell) string { return strconv.Itoa(c.Concurrency) }},
	{"repetition", func(c Cell) string { return strconv.Itoa(c.Repetition) }},
	{"window_s", func(c Cell) string { return decimal(c.WindowS, 3) }},
	{"requests_ok", func(c Cell) string { return strconv.FormatInt(c.RequestsOK, 10) }},
	{"requests_failed", func(c Cell) string { return strconv.FormatInt(c.RequestsFailed(), 10) }},
	{"requests_cut", func(c Cell) string { return strconv.FormatInt(c.RequestsCut, 10) }},
	{"success_rate", func(c Cell) string { return known(c.SuccessRate())(6) }},
	{"goodput_mbit_s", func(c Cell) string { return decimal(c.GoodputBits()/1e6, 3) }},
	{"link_share", func(c Cell) string { return known(c.LinkShare())(6) }},
	{"ttfb_p50_ms", func(c Cell) string { return quantile(c.TTFB.P50) }},
	{"ttfb_p95_ms", func(c Cell) string { return quantile(c.TTFB.P95) }},
	{"ttfb_p99_ms", func(c Cell) string { return quantile(c.TTFB.P99) }},
	{"duration_p50_ms", func(c Cell) string { return quantile(c.Duration.P50) }},
	{"duration_p95_ms", func(c Cell) string { return quantile(c.Duration.P95) }},
	{"duration_p99_ms", func(c Cell) string { return quantile(c.Duration.P99) }},
	{"failed_connect", failures(records.Connect)},
	{"failed_reset", failures(records.Reset)},
	{"failed_timeout", failures(records.Timeout, records.Stalled)},
	{"failed_status", failures(records.Status)},
	{"failed_range", failures(records.Range)},
	{"failed_short", failures(records.Short)},
	{"failed_corrupt", failures(records.Corrupt)},
	{"server_cpu_s_per_gb", func(c Cell) string { return optional(c.ServerCPUSPerGB, 4) }},
	{"server_rss_mb", func(c Cell) string { return optional(c.ServerRSSMB, 1) }},
	{"generator_cpu_s_per_gb", func(c Cell) string { return optional(c.GenCPUSPerGB, 4) }},
	{"limited_by", func(c Cell) string { return c.LimitedBy }},
	{"delivered_mbit_s", func(c Cell) string { return decimal(c.DeliveredBits()/1e6, 3) }},
	{"fairness", func(c Cell) string { return optional(c.Fairness, 6) }},
	{"jobs_ok", jobs(func(j Jobs) string { return strconv.FormatInt(j.OK, 10) })},
	{"jobs_failed", jobs(func(j Jobs) string { return strconv.FormatInt(j.Failed, 10) })},
	{"jobs_cut", jobs(func(j Jobs) string { return strconv.FormatInt(j.Cut, 10) })},
	{"job_p50_ms", jobs(func(j Jobs) string { return quantile(j.Duration.P50) })},
	{"job_p90_ms", jobs(func(j Jobs) string { return quantile(j.Duration.P90) })},
	{"job_p99_ms", jobs(func(j Jobs) string { return quantile(j.Duration.P99) })},
	{"job_p100_ms", jobs(func(j Jobs) string { return quantile(j.Duration.P100) })},
	{"stage_shares", jobs(stageShares)},
	{"wire_bytes", func(c Cell) string { return known(c.WireBytes())(0) }},
	{"wire_overhead", func(c Cell) string { return known(c.WireOverhead())(6) }},
}

// WriteCellsCSV writes cells.csv into the run's folder, atomically, a row per
// cell in the order they ran. A quantile of which only a lower bound is known
// is written ">" and the bound.
func WriteCellsCSV(dir string, run *Run) error {
	var buf bytes.Buffer
	w := csv.NewWriter(&buf)
	row := make([]string, len(columns))
	for i, col := range columns {
		row[i] = col.name
	}
	w.Write(row)
	for _, c := range run.Cells {
		for i, col := range columns {
			row[i] = col.value(c)
		}
		w.Write(row)
	}
	w.Flush() // a bytes.Buffer takes everything
	return wholefile.Write(filepath.Join(dir, CellsFile), buf.Bytes(), 0o644)
}

// decimal writes v with at most so many decimals, without trailing zeros.
func decimal(v float64, places int) string {
	s := strconv.FormatFloat(v, 'f', places, 64)
	if places == 0 {
		return s
	}
	for s[len(s)-1] == '0' {
		s = s[:len(s)-1]
	}
	if s[len(s)-1] == '.' {
		s = s[:len(s)-1]
	}
	return s
}

func known(v float64, ok bool) func(places int) string {
	return func(places int) string {
		if !ok {
			return ""
		}
		return decimal(v, places)
	}
}

func optional(v *float64, places int) string {
	if v == nil {
		return ""
	}
	return decimal(*v, places)
}

func quantile(q *Quantile) string {
	switch {
	case q == nil:
		return ""
	case q.Bound:
		return ">" + decimal(q.Ms, 3)
	}
	return decimal(q.Ms, 3)
}

// jobs is empty where the workload has none.
func jobs(value func(Jobs) string) func(Cell) string {
	return func(c Cell) string {
		if c.Jobs == nil {
			return ""
		}
		return value(*c.Jobs)
	}
}

func stageShares(j Jobs) string {
	var shares []string
	for _, s := range j.Stages {
		shares = append(shares, s.Name+"="+decimal(s.Share, 6))
	}
	return strings.Join(shares, ";")
}

func failures(kinds ...records.Outcome) func(Cell) string {
	return func(c Cell) string {
		n := 0
		for _, k := range kinds {
			n += c.Failed[k]
		}
		return strconv.Itoa(n)
	}
}
