package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"piecebench/bench/detail"
	"piecebench/bench/result"
	"piecebench/bench/stats"
	"piecebench/netem/client"
)

// Fact is something about a target in one row. Its text is empty where it is not known.
type Fact struct {
	Label string
	Text  func(f *Figures) string
}

// Facts are all that a report can show of a target in one row, in their order.
var Facts = []Fact{
	{"limited by", func(f *Figures) string { return f.limit() }},
	{"because", func(f *Figures) string { return f.Because }},
	{"goodput", func(f *Figures) string { return megabits(f.Goodput) + " Mbit/s" }},
	{"delivered, with failed requests", func(f *Figures) string {
		if f.Delivered == f.Goodput {
			return ""
		}
		return megabits(f.Delivered) + " Mbit/s"
	}},
	{"on the wire", func(f *Figures) string {
		overhead, ok := f.Overhead()
		if !ok {
			return ""
		}
		return fmt.Sprintf("%s Mbit/s, %s more than the payload%s", megabits(f.Wire), percent(overhead), f.sentAgain())
	}},
	{"share of the ceiling", func(f *Figures) string {
		if share, ok := f.Share(); ok {
			return wholePercent(share)
		}
		return ""
	}},
	{"ratio", func(f *Figures) string {
		if f.Base == nil {
			return ""
		}
		return ratio(f.Compared())
	}},
	{"TTFB p50, p95, p99", func(f *Figures) string { return threeQuantiles(f.TTFB, f.WarmupQuantiles) }},
	{"duration p50, p95, p99", func(f *Figures) string {
		return threeQuantiles(f.Duration, f.WarmupQuantiles)
	}},
	{"job time p50, p90, p99, longest", func(f *Figures) string {
		if f.Jobs == nil {
			return ""
		}
		var texts []string
		for _, q := range f.Jobs.Each() {
			texts = append(texts, Quantile(q, f.Jobs.Warmup))
		}
		return strings.Join(texts, ", ")
	}},
	{"jobs", func(f *Figures) string {
		if f.Jobs == nil {
			return ""
		}
		return f.Jobs.counts() + "; " + threeDigits(f.Jobs.Requests) + " requests each"
	}},
	{"time of jobs", func(f *Figures) string {
		if f.Jobs == nil {
			return ""
		}
		return f.Jobs.shares()
	}},
	{"errors of jobs", func(f *Figures) string {
		var all []string
		for _, c := range f.Cells {
			if c.Jobs != nil {
				all = append(all, c.Jobs.FirstErrors...)
			}
		}
		return strings.Join(all, "; ")
	}},
	{"requests", func(f *Figures) string {
		return fmt.Sprintf("%d ok, %d failed, %d cut", f.OK, f.Failed, f.Cut)
	}},
	{"success rate", func(f *Figures) string {
		if f.OK+f.Failed == 0 {
			return ""
		}
		low, high := stats.Wilson(f.OK, f.OK+f.Failed, 0.95)
		return fmt.Sprintf("%s (%s to %s)", f.Success(), percent(low), percent(high))
	}},
	{"fairness between clients", (*Figures).fairness},
	{"verified", func(f *Figures) string {
		var requests, bytes int64
		for _, c := range f.Cells {
			requests, bytes = requests+c.Verified, bytes+c.VerifiedBytes
		}
		if requests == 0 {
			return ""
		}
		return fmt.Sprintf("%s, %s MB compared", count(int(requests), "request"), threeDigits(float64(bytes)/1e6))
	}},
	{"failed by status", func(f *Figures) string { return strings.Join(f.statuses(), ", ") }},
	{"errors", func(f *Figures) string {
		var all []string
		for _, c := range f.Cells {
			all = append(all, c.FirstErrors...)
		}
		return strings.Join(all, "; ")
	}},
	{"time of an ok request", func(f *Figures) string {
		p := f.Detail.Pooled.Phases
		if p.Requests == 0 {
			return ""
		}
		var parts []string
		for i, ms := range p.Each() {
			if ms > 0 {
				parts = append(parts, detail.PhaseNames[i]+" "+duration(ms))
			}
		}
		return strings.Join(parts, ", ")
	}},
	{"server CPU", cpu(ServerSeconds, func(e *result.Evidence) *result.CPUUse { return e.Server })},
	{"generator CPU", cpu(GeneratorSeconds, func(e *result.Evidence) *result.CPUUse { return e.Generator })},
	{"server memory", func(f *Figures) string {
		mb, ok := f.Mean(func(c result.Cell) *float64 { return c.ServerRSSMB })
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
	{"connections", tcp(func(t *result.TCP) string {
		return fmt.Sprintf("%d; on %s TCP held back data", t.Connections, wholePercent(t.Waiting))
	})},
	{"TCP", tcp(func(t *result.TCP) string {
		return fmt.Sprintf("client’s window full %s of the time, send buffer full %s; %s of the bytes retransmitted",
			wholePercent(t.ReceiverLimited), wholePercent(t.BufferLimited), percent(t.Retransmitted))
	})},
	{"oldest byte without an acknowledgement", tcp(func(t *result.TCP) string {
		switch {
		case t.OldestUnackedMs == 0:
			return ""
		case t.Stalled == 0:
			return duration(t.OldestUnackedMs)
		}
		return duration(t.OldestUnackedMs) + "; " + count(t.Stalled, "connection") + " without progress at a time"
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
	{"slow-start floor", positive(func(e *result.Evidence) float64 { return e.FloorMs }, duration)},
	{"request on an open connection", positive(func(e *result.Evidence) float64 { return e.OpenMs }, duration)},
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
	{"generator’s ceiling", positive(func(e *result.Evidence) float64 { return float64(e.GeneratorBits) }, func(bits float64) string { return megabits(bits) + " Mbit/s" })},
}

// statuses says how many requests failed with which HTTP status.
func (f *Figures) statuses() (texts []string) {
	sum := map[string]int{}
	for _, c := range f.Cells {
		for status, n := range c.FailedStatus {
			sum[status] += n
		}
	}
	for _, status := range slices.Sorted(maps.Keys(sum)) {
		texts = append(texts, fmt.Sprintf("%d with status %s", sum[status], status))
	}
	return texts
}

// fairness is 1 for a single client, which says nothing.
func (f *Figures) fairness() string {
	index, ok := f.Mean(func(c result.Cell) *float64 { return c.Fairness })
	if !ok || f.Row.Concurrency == 1 {
		return ""
	}
	return threeDigits(index)
}

// ServerSeconds and GeneratorSeconds are CPU seconds per gigabyte.
func ServerSeconds(c result.Cell) *float64    { return c.ServerCPUSPerGB }
func GeneratorSeconds(c result.Cell) *float64 { return c.GenCPUSPerGB }

func threeQuantiles(q result.Quantiles, warmup bool) string {
	if q.P50 == nil && q.P95 == nil && q.P99 == nil {
		return ""
	}
	return Quantile(q.P50, false) + ", " + Quantile(q.P95, false) + ", " + Quantile(q.P99, warmup)
}

// evidence is a fact about one repetition: several have no common one.
func evidence(text func(result.Cell, *result.Evidence) string) func(*Figures) string {
	return func(f *Figures) string {
		if len(f.Cells) != 1 || f.Cells[0].Evidence == nil {
			return ""
		}
		return text(f.Cells[0], f.Cells[0].Evidence)
	}
}

func tcp(text func(*result.TCP) string) func(*Figures) string {
	return evidence(func(_ result.Cell, e *result.Evidence) string {
		if e.TCP == nil {
			return ""
		}
		return text(e.TCP)
	})
}

func positive(of func(*result.Evidence) float64, write func(float64) string) func(*Figures) string {
	return evidence(func(_ result.Cell, e *result.Evidence) string {
		if of(e) <= 0 {
			return ""
		}
		return write(of(e))
	})
}

// cpu is the CPU time per gigabyte and, for one repetition, the share of the CPUs that the
// processes may use.
func cpu(perGB func(result.Cell) *float64, use func(*result.Evidence) *result.CPUUse) func(*Figures) string {
	return func(f *Figures) string {
		text := ""
		if s, ok := f.Mean(perGB); ok {
			text = threeDigits(s) + " s/GB"
		}
		if len(f.Cells) != 1 || f.Cells[0].Evidence == nil {
			return text
		}
		u := use(f.Cells[0].Evidence)
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
