// Package boost2023 gives results as the Boost team did in March 2023.
package boost2023

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"piecebench/bench/readable"
	"piecebench/bench/result"
	"piecebench/bench/stats"
	"piecebench/bench/workload"
	"piecebench/records"
	"piecebench/report"
)

// Document has, for each link, the table in which the Boost team's study of HTTP retrievals gave
// its results in March 2023. It is made from the records of the requests, in the run's folder
// dir.
func Document(dir string, run *result.Run) (report.Document, error) {
	v := report.NewView(run)
	d := report.Document{Title: run.ID + ": the table of the Boost study of 2023", Terms: terms, Elsewhere: "the records of the requests"}
	for _, l := range v.Links {
		t, err := table(dir, l)
		if err != nil {
			return d, err
		}
		s := report.Section{Table: t}
		s.Title, s.Detail = l.Heading()
		for _, f := range report.All(l.Rows) {
			if f.WarmupQuantiles {
				s.Notes = []string{report.WarmupNote}
			}
		}
		d.Sections = append(d.Sections, s)
	}
	return d, nil
}

// terms say what the columns mean, and where the study's tool meant something else.
var terms = []report.Term{
	{Name: "Protocol", Meaning: "the target. The study’s HTTPS was nginx with plain files, which is raw here, and its Boost was booster-http, where gateway is a piece gateway here. " +
		"There each client asked both, one after the other in random order, so that the two shared the link; here each is measured alone."},
	{Name: "Scenario", Meaning: "full-fetch is a whole piece, range-requests a range of this size at a random offset of a random piece. The study’s offsets went up to 32 GiB, which a piece’s payload does not fill."},
	{Name: "Concurrency", Meaning: "clients at a time. All repetitions are in one line."},
	{Name: "Latency", Meaning: "TTFB, from the request written to the first byte of the response. The study counted the first byte of an error too."},
	{Name: "Bandwidth", Meaning: "bytes of a request / its duration without connecting, in MiB/s (2^20 bytes), which the study called MB/s. It took the bytes that the response’s head announced, whether they came or not."},
	{Name: "Avg to P(95)", Meaning: "over the requests. Those that were cut or failed are right-censored at their age (Kaplan-Meier). Where they make a value unknowable, " +
		"it is a bound: > for latency, < for bandwidth. P(90) of bandwidth is what 10 % of requests, at most, exceeded. The study interpolated between two requests; here a quantile is always a request’s value."},
	{Name: "Success Rate", Meaning: "ok / (ok + failed); in brackets how many delivered a wrong byte, and how many were still running at the end. ok is the right status, the right range and exactly the right bytes; in the study a status of 2xx was enough."},
	{Name: "CPU", Meaning: "CPU time of the target’s processes per GB (10^9 bytes) delivered, user and system. The study’s tool left CPU and Memory empty, and a column Missed WindowPost, which is left out here."},
	{Name: "Memory", Meaning: "memory of the same processes at the end, in MB (10^6 bytes)."},
}

// statistics are the study's figures of latency and of bandwidth, in its order.
var statistics = []struct {
	name  string
	share float64 // the quantile; -1 for the mean
}{{"Avg", -1}, {"Min", 0}, {"Med", 0.5}, {"Max", 1}, {"P(90)", 0.9}, {"P(95)", 0.95}}

func table(dir string, l *report.Link) (report.Table, error) {
	t := report.Table{Head: []report.Column{report.Left("Protocol"), report.Left("Scenario"), report.Right("Concurrency")}}
	for _, s := range statistics {
		t.Head = append(t.Head, report.Right("Latency "+s.name+" (ms)"))
	}
	for _, s := range statistics {
		t.Head = append(t.Head, report.Right("Bandwidth (MiB/s) "+s.name))
	}
	t.Head = append(t.Head, report.Right("Success Rate"), report.Right("CPU (s/GB)"), report.Right("Memory (MB)"))
	for _, f := range report.All(inOrder(l.Rows)) {
		o, err := observe(dir, f.Cells)
		if err != nil {
			return t, err
		}
		cells := []string{f.Target, scenario(f.Row.Mode) + report.MarkWarmup(f.WarmupQuantiles), strconv.Itoa(f.Row.Concurrency)}
		cells = append(cells, o.figures(&o.ttfb, ">", func(ms float64) float64 { return ms }, func(share float64) float64 { return share })...)
		cells = append(cells, o.figures(&o.pace, "<", func(msPerMiB float64) float64 { return 1000 / msPerMiB }, func(share float64) float64 { return 1 - share })...)
		t.Add(append(cells, success(f), serverCPU(f.Cells), serverMemory(f.Cells))...)
	}
	return t, nil
}

// inOrder puts full pieces first, and ranges by concurrency and size.
func inOrder(rows []*report.Row) []*report.Row {
	rows = slices.Clone(rows)
	isRange := func(r *report.Row) int {
		if r.Mode == workload.FullMode {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(rows, func(a, b *report.Row) int { // a link's rows are in the order of its modes
		return cmp.Or(isRange(a)-isRange(b), cmp.Compare(a.Concurrency, b.Concurrency))
	})
	return rows
}

// scenario names a mode as the study did: range-requests 10 MiB.
func scenario(mode string) string {
	if mode == workload.FullMode {
		return "full-fetch"
	}
	unit := strings.TrimLeft(mode, "0123456789")
	return "range-requests " + strings.TrimSuffix(mode, unit) + " " + unit
}

// observations are the requests of a cell's repetitions.
type observations struct {
	ttfb   stats.Survival // ms
	pace   stats.Survival // ms per MiB, without connecting: cut requests are right-censored in it
	failed bool           // all of them
}

const mebibyte = 1 << 20

// observe reads the records of cells.
func observe(dir string, cells []result.Cell) (*observations, error) {
	o := &observations{failed: true}
	for _, c := range cells {
		if !filepath.IsLocal(c.Records) { // a run may come from somebody else
			return nil, fmt.Errorf("cell %d of the run names no records of its requests in its folder: this table is made from them", c.ID)
		}
		recorded, err := records.Open(filepath.Join(dir, c.Records))
		if err != nil {
			return nil, fmt.Errorf("cell %d: this table is made from the records of the requests: %w", c.ID, err)
		}
		window := recorded.Window()
		for r, err := range recorded.Rows() {
			if err != nil {
				return nil, fmt.Errorf("cell %d: %w", c.ID, err)
			}
			if !c.Observes(r, window) {
				continue
			}
			times := result.TimesOf(r, window)
			times.TTFB.AddTo(&o.ttfb)
			times.Transfer.Ms *= mebibyte / float64(r.Length)
			times.Transfer.AddTo(&o.pace)
			if r.Outcome == records.OK || r.Outcome == records.Cut {
				o.failed = false
			}
		}
	}
	return o, nil
}

// figures writes the statistics of a function of the times. Its quantile is the function of the
// times' quantile at another share.
func (o *observations) figures(times *stats.Survival, bounded string, of, at func(float64) float64) []string {
	var line []string
	for _, s := range statistics {
		var value float64
		var bound, ok bool
		if s.share < 0 {
			value, bound, ok = times.Mean(of)
		} else if value, bound, ok = times.Quantile(at(s.share)); ok {
			value = of(value)
		}
		switch text := readable.ThreeDigits(value); {
		case !ok || o.failed || math.IsInf(value, 0):
			line = append(line, report.Missing)
		case bound:
			line = append(line, bounded+" "+text)
		default:
			line = append(line, text)
		}
	}
	return line
}

func success(f *report.Figures) string {
	var of []string
	if n := f.Failures(records.Corrupt); n > 0 {
		of = append(of, fmt.Sprintf("%d corrupt", n))
	}
	if f.Cut > 0 {
		of = append(of, fmt.Sprintf("%d cut", f.Cut))
	}
	if of == nil {
		return f.Success()
	}
	return f.Success() + " (" + strings.Join(of, ", ") + ")"
}

// serverCPU is the CPU time of all repetitions over their bytes.
func serverCPU(cells []result.Cell) string {
	var seconds, gigabytes float64
	for _, c := range cells {
		if c.ServerCPUSPerGB != nil {
			gb := float64(c.Delivered()) / 1e9
			seconds, gigabytes = seconds+*c.ServerCPUSPerGB*gb, gigabytes+gb
		}
	}
	if gigabytes == 0 {
		return report.Missing
	}
	return readable.ThreeDigits(seconds / gigabytes)
}

// serverMemory is the greatest of all repetitions.
func serverMemory(cells []result.Cell) string {
	most := -1.0
	for _, c := range cells {
		if c.ServerRSSMB != nil {
			most = max(most, *c.ServerRSSMB)
		}
	}
	if most < 0 {
		return report.Missing
	}
	return readable.ThreeDigits(most)
}
