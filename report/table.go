package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"piecebench/bench/compare"
	"piecebench/bench/readable"
)

// table is what all formats show; cells are plain text, not yet escaped.
type table struct {
	head []column
	rows [][]string
	// why is what the last cell of each row rests on, which a page shows when the
	// pointer is over it; nil where there is nothing to say.
	why []string
}

// lines are the head's names and the rows.
func (t table) lines() [][]string {
	head := make([]string, len(t.head))
	for i, c := range t.head {
		head[i] = c.name
	}
	return append([][]string{head}, t.rows...)
}

type column struct {
	name  string
	right bool // numbers
}

func left(name string) column  { return column{name, false} }
func right(name string) column { return column{name, true} }

// pad writes a cell in a width, in characters.
func (c column) pad(cell string, width int) string {
	spaces := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(cell)))
	if c.right {
		return spaces + cell
	}
	return cell + spaces
}

// goodput compares the targets of a link: Mbit/s, in brackets the share of the
// link's ceiling, and the ratio to the baseline with its interval.
func (v *view) goodput(l linkView) table {
	t := table{head: []column{left("mode"), right("clients")}}
	for _, name := range v.targets {
		t.head = append(t.head, right(name+" Mbit/s"))
	}
	for _, name := range v.targets[min(1, len(v.targets)):] {
		t.head = append(t.head, right(name+" / "+v.targets[0]))
	}
	for _, r := range l.rows {
		line := []string{r.mode, strconv.Itoa(r.concurrency)}
		for _, f := range r.figures {
			line = append(line, f.goodputAndShare())
		}
		for i := 1; i < len(v.targets); i++ {
			line = append(line, ratio(r.compare(i)))
		}
		t.rows = append(t.rows, line)
	}
	return t
}

// ratio writes a ratio, in brackets its interval where there is one, and a mark
// where the machine decided it.
func ratio(e compare.Estimate) string {
	switch {
	case !e.Known:
		return missing
	case e.Interval:
		return fmt.Sprintf("%s (%s)", threeDigits(1+e.Change), readable.Interval(1+e.Low, 1+e.High, threeDigits)) + machineSign(e)
	}
	return threeDigits(1+e.Change) + machineSign(e)
}

// machineSign marks a ratio that the machine decided.
func machineSign(e compare.Estimate) string {
	if e.Judged() {
		return ""
	}
	return " " + machineMark
}

const (
	machineMark = "‡"
	machineNote = machineMark + " This machine limited one of the two, so the ratio does not show how they differ."
)

// goodputAndShare writes Mbit/s, and in brackets the share of the ceiling.
func (f *figures) goodputAndShare() string {
	if f == nil {
		return missing
	}
	text := megabits(f.goodput)
	if share, ok := f.share(); ok {
		text += " (" + wholePercent(share) + ")"
	}
	return text
}

// requestColumns are those that figures.requests fills.
var requestColumns = []column{right("TTFB p50"), right("TTFB p95"), right("TTFB p99"),
	right("duration p50"), right("duration p95"), right("duration p99"), right("success"), right("cut"), left("limited by")}

// requests writes how long requests took, how they ended and what limited them.
func (f *figures) requests() []string {
	success := missing
	if share, ok := f.success(); ok {
		success = percent(share)
	}
	w := f.warmupQuantiles
	return []string{quantile(f.ttfb.P50, w), quantile(f.ttfb.P95, w), quantile(f.ttfb.P99, w),
		quantile(f.duration.P50, w), quantile(f.duration.P95, w), quantile(f.duration.P99, w),
		success, strconv.FormatInt(f.cut, 10), orMissing(f.limitedBy)}
}

// requests has a row per target.
func (v *view) requests(l linkView) table {
	t := table{head: append([]column{left("mode"), right("clients"), left("target")}, requestColumns...)}
	for _, r := range l.rows {
		for i, f := range r.figures {
			if f == nil {
				continue
			}
			t.rows = append(t.rows, append([]string{r.mode, strconv.Itoa(r.concurrency), v.targets[i]}, f.requests()...))
			t.why = append(t.why, f.because)
		}
	}
	return t
}

func (v *view) calibrations() table {
	t := table{head: []column{left("link"), left("delay and rate by"), right("delay asked"), right("RTT"), right("allowed Mbit/s"),
		right("unshaped Mbit/s"), right("through the link Mbit/s"), right("ceiling Mbit/s"), left("verdict")}}
	for _, c := range v.run.Calibrations {
		verdict := "as asked"
		if c.HostLimited {
			verdict = "host-limited"
		}
		if len(c.Notes) > 0 {
			verdict += ": " + strings.TrimPrefix(strings.Join(c.Notes, "; "), verdict+": ")
		}
		unshaped, through := 0.0, ""
		for _, m := range c.Unshaped {
			unshaped = max(unshaped, float64(m.GoodputBits))
		}
		for i, m := range c.Through {
			if i > 0 {
				through += ", "
			}
			through += fmt.Sprintf("%s (%s)", megabits(float64(m.GoodputBits)), count(m.Streams, "stream"))
		}
		expected := missing
		if c.ExpectedBits > 0 {
			expected = megabits(float64(c.ExpectedBits))
		}
		t.rows = append(t.rows, []string{c.Link, orMissing(c.Backend), duration(c.AskedDelayMs), fmt.Sprintf("%.2f ms", c.IdleRTTMs), expected,
			megabits(unshaped), orMissing(through), megabits(float64(c.CeilingBits)), verdict})
	}
	return t
}

func orMissing(s string) string {
	if s == "" {
		return missing
	}
	return s
}

// pairs shows a map, sorted by name.
func pairs(name, value string, m map[string]string) table {
	t := table{head: []column{left(name), left(value)}}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		t.rows = append(t.rows, []string{k, m[k]})
	}
	return t
}

// section is a table with its title.
type section struct {
	title  string
	table  table
	detail bool // closed at first, where a reader can open it
}

// appendix is what stands behind the figures, and what they cost.
func (v *view) appendix() []section { return append(v.costs(), v.background()...) }

// background is what stands behind the figures. Empty tables are left out.
func (v *view) background() []section {
	return slices.DeleteFunc([]section{
		{title: "Calibration", table: v.calibrations()},
		{title: "Settings", table: pairs("variable", "value", v.run.Settings)},
		{title: "Machine", table: v.machine()},
	}, func(s section) bool { return len(s.table.rows) == 0 })
}

// hasWarmupMark tells whether any row of a link carries warmupMark.
func (l linkView) hasWarmupMark() bool {
	return slices.ContainsFunc(l.rows, func(r row) bool {
		return slices.ContainsFunc(r.figures, func(f *figures) bool { return f != nil && f.warmupQuantiles })
	})
}

const noCell = "No cell of this link was measured."

const warmupNote = warmupMark + " Fewer than one request per client began and ended inside the window, so requests of the warm-up are among these quantiles."

// heading names a link, its calibration in short.
func (l linkView) heading() (title, detail string) {
	c := l.calibration
	if c == nil {
		return linkName(l.name), ""
	}
	parts := []string{fmt.Sprintf("RTT %.1f ms", c.IdleRTTMs), fmt.Sprintf("measured ceiling %s Mbit/s", megabits(float64(c.CeilingBits)))}
	if c.ExpectedBits > 0 {
		parts[1] += " of " + megabits(float64(c.ExpectedBits))
	}
	if c.HostLimited {
		parts = append(parts, "host-limited")
	}
	return linkName(l.name), strings.Join(parts, ", ")
}

// goodputTitle is the title of the goodput table.
func (l linkView) goodputTitle() string {
	if l.hasCeiling() {
		return "Goodput, in brackets the share of the ceiling"
	}
	return "Goodput"
}

// machine shows the fingerprint and when the run took place.
func (v *view) machine() table {
	fingerprint := maps.Clone(v.run.Fingerprint)
	if fingerprint == nil {
		fingerprint = map[string]string{}
	}
	fingerprint["piecebench"] = v.run.Piecebench
	t := pairs("property", "value", fingerprint)
	finished := "no"
	if v.run.Finished != nil {
		finished = v.run.Finished.UTC().Format(timeFormat)
	}
	t.rows = append([][]string{
		{"started", v.run.Started.UTC().Format(timeFormat)},
		{"finished", finished},
	}, t.rows...)
	return t
}

const timeFormat = "2006-01-02 15:04:05 UTC"
