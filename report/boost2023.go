package report

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"piecebench/bench/result"
	"piecebench/bench/settings"
	"piecebench/bench/stats"
	"piecebench/records"
)

// Boost2023 returns, as Markdown and for each link, the table in which the
// Boost team's study of HTTP retrievals gave its results in March 2023. It is
// made from the records of the requests, in the run's folder dir.
func Boost2023(dir string, run *result.Run) ([]byte, error) {
	v := newView(run)
	var b strings.Builder
	fmt.Fprintf(&b, "# piecebench %s: the table of the Boost study of 2023\n", markdown(run.ID))
	for _, l := range v.links {
		t, err := v.boost2023(dir, l)
		if err != nil {
			return nil, err
		}
		title, detail := l.heading()
		fmt.Fprintf(&b, "\n## %s\n", markdown(title))
		if detail != "" {
			fmt.Fprintf(&b, "\n%s\n", markdown(detail))
		}
		b.WriteString("\n")
		b.WriteString(strings.Join(t.markdown(), ""))
		if l.hasWarmupMark() {
			fmt.Fprintf(&b, "\n%s\n", warmupNote)
		}
	}
	b.WriteString("\n## Columns\n\n")
	for _, t := range boost2023Terms {
		fmt.Fprintf(&b, "- **%s**: %s\n", t.Name, t.Meaning)
	}
	return []byte(b.String()), nil
}

// boost2023Terms say what the columns mean, and where that is not what the
// study's tool wrote into them.
var boost2023Terms = []term{
	{"Protocol", "the target. The study’s HTTPS was nginx with plain files, which is raw here, and its Boost was booster-http, where gateway is a piece gateway here. " +
		"There each client asked both, one after the other in random order, so that the two shared the link; here each is measured alone."},
	{"Scenario", "full-fetch is a whole piece, range-requests a range of this size at a random offset of a random piece. The study’s offsets went up to 32 GiB, which a piece’s payload does not fill."},
	{"Concurrency", "clients at a time. All repetitions of a cell are in one row."},
	{"Latency", "TTFB, from the request written to the first byte of the response. The study counted the first byte of an error too."},
	{"Bandwidth", "bytes of a request / its duration without connecting, in MiB/s (2^20 bytes), which the study called MB/s. It took the bytes that the response’s head announced, whether they came or not."},
	{"Avg to P(95)", "over the requests. Those that were cut or failed count as longer than they were seen (Kaplan-Meier); where they make a value unknowable, " +
		"it is a bound: > for latency, < for bandwidth. P(90) of bandwidth is what 10 % of requests, at most, exceeded. The study interpolated between two requests; here a quantile is always a request’s value."},
	{"Success Rate", "ok / (ok + failed); in brackets how many delivered a wrong byte, and how many were still running when the cell ended. ok is the right status, the right range and exactly the right bytes; in the study a status of 2xx was enough."},
	{"CPU", "CPU time of the target’s processes per GB (10^9 bytes) delivered, user and system. The study’s tool left CPU and Memory empty, and a column Missed WindowPost, which is left out here."},
	{"Memory", "memory of the same processes at the cell’s end, in MB (10^6 bytes)."},
}

// statistics are the study's figures of latency and of bandwidth, in its order.
var statistics = []struct {
	name  string
	share float64 // the quantile; -1 for the mean
}{{"Avg", -1}, {"Min", 0}, {"Med", 0.5}, {"Max", 1}, {"P(90)", 0.9}, {"P(95)", 0.95}}

func (v *view) boost2023(dir string, l linkView) (table, error) {
	t := table{head: []column{left("Protocol"), left("Scenario"), right("Concurrency")}}
	for _, s := range statistics {
		t.head = append(t.head, right("Latency "+s.name+" (ms)"))
	}
	for _, s := range statistics {
		t.head = append(t.head, right("Bandwidth (MiB/s) "+s.name))
	}
	t.head = append(t.head, right("Success Rate"), right("CPU (s/GB)"), right("Memory (MB)"))
	for _, r := range boost2023Order(l.rows) {
		for i, f := range r.figures {
			if f == nil {
				continue
			}
			o, err := observe(dir, f.cells)
			if err != nil {
				return table{}, err
			}
			scenario := boost2023Scenario(r.mode)
			if f.warmupQuantiles {
				scenario += " " + warmupMark
			}
			line := []string{v.targets[i], scenario, strconv.Itoa(r.concurrency)}
			line = append(line, o.latency()...)
			line = append(line, o.bandwidth()...)
			t.rows = append(t.rows, append(line, f.successAndCut(), serverCPU(f.cells), serverMemory(f.cells)))
		}
	}
	return t, nil
}

// boost2023Order puts full pieces first, and ranges by concurrency and size.
func boost2023Order(rows []row) []row {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b row) int {
		if full := a.mode == settings.FullMode; full != (b.mode == settings.FullMode) {
			if full {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.concurrency, b.concurrency) // a link's rows have the modes in their order
	})
	return rows
}

// boost2023Scenario names a mode as the study did: range-requests 10 MiB.
func boost2023Scenario(mode string) string {
	if mode == settings.FullMode {
		return "full-fetch"
	}
	unit := strings.TrimLeft(mode, "0123456789")
	return "range-requests " + strings.TrimSuffix(mode, unit) + " " + unit
}

// observations are the requests of a cell's repetitions.
type observations struct {
	ttfb   stats.Survival // ms
	pace   stats.Survival // ms a MiB, without connecting: it is what cut requests are right-censored in
	failed bool           // every one
}

const mebibyte = 1 << 20

// observe reads the records of cells.
func observe(dir string, cells []result.Cell) (*observations, error) {
	o := &observations{failed: true}
	for _, c := range cells {
		if c.Records == "" {
			return nil, fmt.Errorf("cell %d of the run names no records of its requests, which this table is made from", c.ID)
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

func (o *observations) latency() []string {
	return o.figures(&o.ttfb, ">", func(ms float64) float64 { return ms }, func(share float64) float64 { return share })
}

func (o *observations) bandwidth() []string {
	return o.figures(&o.pace, "<", func(msPerMiB float64) float64 { return 1000 / msPerMiB }, func(share float64) float64 { return 1 - share })
}

// figures writes the statistics of what a function makes of the times: a
// quantile of that is the function of the times' quantile at another share.
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
		switch text := threeDigits(value); {
		case !ok || o.failed || math.IsInf(value, 0):
			line = append(line, missing)
		case bound:
			line = append(line, bounded+" "+text)
		default:
			line = append(line, text)
		}
	}
	return line
}

func (f *figures) successAndCut() string {
	text := missing
	if share, ok := f.success(); ok {
		text = percent(share)
	}
	var of []string
	if n := f.corrupt(); n > 0 {
		of = append(of, fmt.Sprintf("%d corrupt", n))
	}
	if f.cut > 0 {
		of = append(of, fmt.Sprintf("%d cut", f.cut))
	}
	if of != nil {
		text += " (" + strings.Join(of, ", ") + ")"
	}
	return text
}

// serverCPU is that of all repetitions by the bytes of all.
func serverCPU(cells []result.Cell) string {
	var seconds, gigabytes float64
	for _, c := range cells {
		if c.ServerCPUSPerGB != nil {
			gb := float64(c.Delivered()) / 1e9
			seconds, gigabytes = seconds+*c.ServerCPUSPerGB*gb, gigabytes+gb
		}
	}
	if gigabytes == 0 {
		return missing
	}
	return threeDigits(seconds / gigabytes)
}

// serverMemory is the most of all repetitions.
func serverMemory(cells []result.Cell) string {
	most := -1.0
	for _, c := range cells {
		if c.ServerRSSMB != nil {
			most = max(most, *c.ServerRSSMB)
		}
	}
	if most < 0 {
		return missing
	}
	return threeDigits(most)
}
