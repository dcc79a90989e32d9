package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"piecebench/bench/result"
	"piecebench/bench/stats"
	"piecebench/netem/client"
)

// fact is a line of the explorer's table. Its text is empty where it is not
// known of a target; a line that no target has is left out.
type fact struct {
	label string
	text  func(v *view, r row, t int, f *figures) string
}

var facts = []fact{
	{"limited by", func(_ *view, _ row, _ int, f *figures) string { return limitName(f.limitedBy) }},
	{"because", func(_ *view, _ row, _ int, f *figures) string { return f.because }},
	{"goodput", func(_ *view, _ row, _ int, f *figures) string { return megabits(f.goodput) + " Mbit/s" }},
	{"delivered, with failed requests", func(_ *view, _ row, _ int, f *figures) string {
		if f.delivered == f.goodput {
			return ""
		}
		return megabits(f.delivered) + " Mbit/s"
	}},
	{"share of the ceiling", func(_ *view, _ row, _ int, f *figures) string {
		if share, ok := f.share(); ok {
			return wholePercent(share)
		}
		return ""
	}},
	{"ratio", func(v *view, r row, t int, f *figures) string {
		if t == 0 || f != r.figures[t] {
			return ""
		}
		return ratio(r.compare(t))
	}},
	{"TTFB p50, p95, p99", func(_ *view, _ row, _ int, f *figures) string { return threeQuantiles(f.ttfb, f.warmupQuantiles) }},
	{"duration p50, p95, p99", func(_ *view, _ row, _ int, f *figures) string {
		return threeQuantiles(f.duration, f.warmupQuantiles)
	}},
	{"requests", func(_ *view, _ row, _ int, f *figures) string {
		return fmt.Sprintf("%d ok, %d failed, %d cut", f.ok, f.failed, f.cut)
	}},
	{"success rate", func(_ *view, _ row, _ int, f *figures) string {
		share, ok := f.success()
		if !ok {
			return ""
		}
		low, high := stats.Wilson(f.ok, f.ok+f.failed, 0.95)
		return fmt.Sprintf("%s (%s to %s)", percent(share), percent(low), percent(high))
	}},
	{"verified", func(_ *view, _ row, _ int, f *figures) string {
		var requests, bytes int64
		for _, c := range f.cells {
			requests, bytes = requests+c.Verified, bytes+c.VerifiedBytes
		}
		if requests == 0 {
			return ""
		}
		return fmt.Sprintf("%s, %s MB compared", count(int(requests), "request"), threeDigits(float64(bytes)/1e6))
	}},
	{"failed by status", func(_ *view, _ row, _ int, f *figures) string { return strings.Join(f.statuses(), ", ") }},
	{"errors", func(_ *view, _ row, _ int, f *figures) string {
		var all []string
		for _, c := range f.cells {
			all = append(all, c.FirstErrors...)
		}
		return strings.Join(all, "; ")
	}},
	{"time of an ok request", func(_ *view, r row, t int, f *figures) string {
		p := f.detail.Pooled.Phases
		if p.Requests == 0 {
			return ""
		}
		parts := []string{}
		for i, ms := range phaseTimes(p) {
			if ms > 0 {
				parts = append(parts, phaseSegments[i].Name+" "+duration(ms))
			}
		}
		return strings.Join(parts, ", ")
	}},
	{"server CPU", cpu(serverSeconds, func(e *result.Evidence) *result.CPUUse { return e.Server })},
	{"generator CPU", cpu(generatorSeconds, func(e *result.Evidence) *result.CPUUse { return e.Generator })},
	{"server memory", func(_ *view, _ row, _ int, f *figures) string {
		mb, ok := f.mean(serverMB)
		if !ok {
			return ""
		}
		return threeDigits(mb) + " MB"
	}},
	{"machine", evidence(func(c result.Cell, e *result.Evidence) string {
		text := fmt.Sprintf("%s of %s busy", wholePercent(c.HostCPU), count(e.HostCPUs, "CPU"))
		if e.Agent != nil {
			text += ", the link agent took " + threeDigits(*e.Agent)
		}
		return text
	})},
	{"connections", evidence(func(_ result.Cell, e *result.Evidence) string {
		if e.TCP == nil {
			return ""
		}
		return fmt.Sprintf("%d; on %s TCP held back what the server had written", e.TCP.Connections, wholePercent(e.TCP.Waiting))
	})},
	{"TCP", evidence(func(_ result.Cell, e *result.Evidence) string {
		if e.TCP == nil {
			return ""
		}
		return fmt.Sprintf("client’s window full %s of the time, send buffer full %s; %s of the bytes retransmitted",
			wholePercent(e.TCP.ReceiverLimited), wholePercent(e.TCP.BufferLimited), percent(e.TCP.Retransmitted))
	})},
	{"oldest byte without an acknowledgement", evidence(func(_ result.Cell, e *result.Evidence) string {
		if e.TCP == nil || e.TCP.OldestUnackedMs == 0 {
			return ""
		}
		text := duration(e.TCP.OldestUnackedMs)
		if e.TCP.Stalled > 0 {
			text += "; " + count(e.TCP.Stalled, "connection") + " without progress at a time"
		}
		return text
	})},
	{"round trip", evidence(func(_ result.Cell, e *result.Evidence) string {
		var parts []string
		if e.RTTMs > 0 {
			parts = append(parts, duration(e.RTTMs)+" idle")
		}
		if e.TCP != nil && e.TCP.RTTMs > 0 {
			parts = append(parts, duration(e.TCP.RTTMs)+" under load")
		}
		return strings.Join(parts, ", ")
	})},
	{"slow-start floor", milliseconds(func(e *result.Evidence) float64 { return e.FloorMs })},
	{"request on an open connection", milliseconds(func(e *result.Evidence) float64 { return e.OpenMs })},
	{"emulated link", evidence(func(_ result.Cell, e *result.Evidence) string {
		if e.Emulator == nil {
			return ""
		}
		text := fmt.Sprintf("%s of the packets late, %s lost; %s found the queue full",
			wholePercent(e.Emulator.Late), percent(e.Emulator.Lost), percent(e.Emulator.Dropped))
		if e.Emulator.Held > 0 {
			text += "; " + count(int(e.Emulator.Held), "packet") + " held for more than " + duration(float64(client.HeldAfter.Milliseconds()))
		}
		return text
	})},
	{"generator’s ceiling", evidence(func(_ result.Cell, e *result.Evidence) string {
		if e.GeneratorBits <= 0 {
			return ""
		}
		return megabits(float64(e.GeneratorBits)) + " Mbit/s"
	})},
}

// statuses says how many requests failed with which HTTP status.
func (f *figures) statuses() (texts []string) {
	sum := map[string]int{}
	for _, c := range f.cells {
		for status, n := range c.FailedStatus {
			sum[status] += n
		}
	}
	for _, status := range slices.Sorted(maps.Keys(sum)) {
		texts = append(texts, fmt.Sprintf("%d with status %s", sum[status], status))
	}
	return texts
}

func threeQuantiles(q result.Quantiles, warmup bool) string {
	if q.P50 == nil && q.P95 == nil && q.P99 == nil {
		return ""
	}
	return quantile(q.P50, false) + ", " + quantile(q.P95, false) + ", " + quantile(q.P99, warmup)
}

// evidence is a fact of one repetition: of several there is no common one.
func evidence(text func(result.Cell, *result.Evidence) string) func(*view, row, int, *figures) string {
	return func(_ *view, _ row, _ int, f *figures) string {
		if len(f.cells) != 1 || f.cells[0].Evidence == nil {
			return ""
		}
		return text(f.cells[0], f.cells[0].Evidence)
	}
}

func milliseconds(of func(*result.Evidence) float64) func(*view, row, int, *figures) string {
	return evidence(func(_ result.Cell, e *result.Evidence) string {
		if of(e) <= 0 {
			return ""
		}
		return duration(of(e))
	})
}

// cpu is what processes used per gigabyte and, of one repetition, of the CPUs
// that they may use.
func cpu(perGB func(result.Cell) *float64, use func(*result.Evidence) *result.CPUUse) func(*view, row, int, *figures) string {
	return func(_ *view, _ row, _ int, f *figures) string {
		text := ""
		if s, ok := f.mean(perGB); ok {
			text = threeDigits(s) + " s/GB"
		}
		if len(f.cells) != 1 || f.cells[0].Evidence == nil {
			return text
		}
		u := use(f.cells[0].Evidence)
		if u == nil {
			return text
		}
		used := fmt.Sprintf("%s of %s", threeDigits(u.CPUs), count(int(u.Allowed), "CPU"))
		if u.Allowed != float64(int(u.Allowed)) {
			used = fmt.Sprintf("%s of %.2f CPUs", threeDigits(u.CPUs), u.Allowed)
		}
		if u.BusiestThread > 0 {
			used += ", busiest thread " + threeDigits(u.BusiestThread)
		}
		if u.Throttled > 0 {
			used += ", its quota used up in " + wholePercent(u.Throttled) + " of the periods"
		}
		return strings.TrimPrefix(text+"; "+used, "; ")
	}
}
