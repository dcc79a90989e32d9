package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"piecebench/bench/detail"
	"piecebench/records"
)

// segment is a part of stacked bars: what it stands for, and its colour.
type segment struct{ Name, Colour string }

// Segments, in colours after Okabe and Ito. Neighbours differ in lightness too.
var (
	phaseSegments  = []segment{{"redirects", "#8a8f98"}, {"connect", "#e69f00"}, {"TLS", "#cc79a7"}, {"waiting", "#0072b2"}, {"receiving", "#7cc4ec"}}
	outcomeColours = map[records.Outcome]string{
		records.OK: "#2f9e77", records.Cut: "#b9c0ca",
		records.Connect: "#8c2d04", records.Reset: "#d55e00", records.Timeout: "#e69f00", records.Stalled: "#f0c75e",
		records.Status: "#882255", records.Range: "#cc79a7", records.Short: "#0072b2", records.Corrupt: "#7a5cf0",
	}
	otherColour = "#7a7f87"
)

// bars are stacked horizontal bars of shares, one a target and concurrency.
type bars struct {
	labels, heads []string
	parts         [][]part // by segment, then by bar
}

// part is a segment of one bar. End is a text beside the bar.
type part struct {
	share     float64
	text, end string
	cell      int
}

// add appends the bar of a target; the first of a concurrency is named after both.
func (b *bars) add(v *view, r row, target int, parts []part) {
	label := v.targets[target]
	if len(v.targets) == 1 {
		label = strconv.Itoa(r.concurrency)
	} else if n := len(b.heads); n == 0 || b.parts[0][n-1].cell != r.index {
		label = strconv.Itoa(r.concurrency) + "   " + label
	}
	b.labels = append(b.labels, label)
	b.heads = append(b.heads, clients(r.concurrency)+", "+v.targets[target])
	if b.parts == nil {
		b.parts = make([][]part, len(parts))
	}
	for i, p := range parts {
		p.cell = r.index
		b.parts[i] = append(b.parts[i], p)
	}
}

func (b *bars) chart(segments []segment, m modeRows, what string) chart {
	series := []option{}
	for i, parts := range b.parts {
		var data []option
		for _, p := range parts {
			// A hair less: a sum that rounding lifts above 100 is off the axis, with its text.
			item := option{"value": 100 * p.share * (1 - 1e-9), "text": p.text, "cell": p.cell}
			if p.end != "" {
				item["label"] = option{"show": true, "position": "right", "formatter": p.end}
			}
			data = append(data, item)
		}
		series = append(series, option{"type": "bar", "name": segments[i].Name, "id": segments[i].Name, "stack": "all", "data": data,
			"color": segments[i].Colour, "barMaxWidth": 16})
	}
	return chart{
		Title: m.mode, Alt: m.alt(what), Heads: b.heads, Height: 46 + 20*len(b.labels),
		Option: option{
			"xAxis":  option{"type": "value", "max": 100, "unit": "percent", "interval": 25},
			"yAxis":  option{"type": "category", "inverse": true, "data": b.labels, "axisLabel": option{"width": 130, "overflow": "truncate", "interval": 0}},
			"series": series,
		},
	}
}

// outcomes are the segments that the run has.
func (v *view) outcomes() []segment {
	seen := map[records.Outcome]int{records.OK: 1, records.Cut: 1}
	for _, c := range v.run.Cells {
		for o, n := range c.Failed {
			seen[o] += n
		}
	}
	// What is not listed was written by another version of piecebench.
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(seen)), func(o records.Outcome) bool { return slices.Contains(records.Outcomes, o) })
	var all []segment
	for _, o := range slices.Concat(records.Outcomes, others) {
		if seen[o] > 0 {
			all = append(all, segment{string(o), cmp.Or(outcomeColours[o], otherColour)})
		}
	}
	return all
}

// outcomesChart is how the requests ended, as shares of all.
func (v *view) outcomesChart(m modeRows) chart {
	segments := v.outcomes()
	var b bars
	for _, r := range m.rows {
		for t, f := range r.figures {
			if f == nil {
				continue
			}
			counts := map[records.Outcome]int64{records.OK: f.ok, records.Cut: f.cut}
			for _, c := range f.cells {
				for name, n := range c.Failed {
					counts[name] += int64(n)
				}
			}
			all := max(1, f.ok+f.failed+f.cut)
			var parts []part
			for _, s := range segments {
				n := counts[records.Outcome(s.Name)]
				share := float64(n) / float64(all)
				p := part{share: share}
				if n > 0 {
					p.text = fmt.Sprintf("%d (%s)", n, percent(share))
				}
				parts = append(parts, p)
			}
			parts[len(parts)-1].end = strconv.FormatInt(f.ok+f.failed+f.cut, 10)
			b.add(v, r, t, parts)
		}
	}
	return b.chart(segments, m, "Outcomes of requests, by clients and target")
}

// phaseTimes are the phases in the order of phaseSegments, in milliseconds.
func phaseTimes(p detail.Phases) []float64 {
	return []float64{p.Redirects, p.Connect, p.TLS, p.Waiting, p.Receiving}
}

// phasesChart is where the time of a request went, as shares of its duration.
func (v *view) phasesChart(m modeRows) chart {
	var b bars
	for _, r := range m.rows {
		for t, f := range r.figures {
			if f == nil || f.detail.Pooled.Phases.Requests == 0 {
				continue
			}
			p := f.detail.Pooled.Phases
			var parts []part
			for _, ms := range phaseTimes(p) {
				q := part{share: ms / max(1e-9, p.Duration())}
				if ms > 0 {
					q.text = fmt.Sprintf("%s (%s)", duration(ms), wholePercent(q.share))
				}
				parts = append(parts, q)
			}
			parts[len(parts)-1].end = duration(p.Duration())
			b.add(v, r, t, parts)
		}
	}
	segments := phaseSegments
	if len(b.parts) > 0 && !slices.ContainsFunc(b.parts[0], func(p part) bool { return p.share > 0 }) { // mostly none is redirected
		segments, b.parts = segments[1:], b.parts[1:]
	}
	return b.chart(segments, m, "Where the time of a request went, by clients and target")
}
