package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"piecebench/bench/detail"
	"piecebench/bench/readable"
	"piecebench/bench/result"
	"piecebench/records"
	"piecebench/report"
)

// segment is a part of stacked bars: what it stands for, and its colour.
type segment struct{ Name, Colour string }

// Colours after Okabe and Ito. Neighbours differ in lightness too.
var (
	phaseSegments  = segments(detail.PhaseNames, "#8a8f98", "#e69f00", "#cc79a7", "#0072b2", "#7cc4ec")
	outcomeColours = map[records.Outcome]string{
		records.OK: "#2f9e77", records.Cut: "#b9c0ca",
		records.Connect: "#8c2d04", records.Reset: "#d55e00", records.Timeout: "#e69f00", records.Stalled: "#f0c75e",
		records.Status: "#882255", records.Range: "#cc79a7", records.Short: "#0072b2", records.Corrupt: "#7a5cf0",
	}
	otherColour = "#7a7f87"
)

func segments(names []string, colours ...string) (all []segment) {
	for i, name := range names {
		all = append(all, segment{name, colours[i]})
	}
	return all
}

// bars are stacked horizontal bars of shares, one a target and concurrency.
type bars struct {
	labels, heads []string
	parts         [][]part // by segment, then by bar
}

// part is a segment of one bar. End is a text beside the bar.
type part struct {
	share     float64
	text, end string
	row       int
}

// add appends a bar. The first of a concurrency is named after that and the target.
func (b *bars) add(targets int, f *report.Figures, parts []part) {
	label := f.Target
	if targets == 1 {
		label = strconv.Itoa(f.Row.Concurrency)
	} else if n := len(b.heads); n == 0 || b.parts[0][n-1].row != f.Row.Index {
		label = strconv.Itoa(f.Row.Concurrency) + "   " + label
	}
	b.labels = append(b.labels, label)
	b.heads = append(b.heads, readable.Count(f.Row.Concurrency, "client")+", "+f.Target)
	if b.parts == nil {
		b.parts = make([][]part, len(parts))
	}
	for i, p := range parts {
		p.row = f.Row.Index
		b.parts[i] = append(b.parts[i], p)
	}
}

func (b *bars) chart(segments []segment, rows []*report.Row, what string) chart {
	series := []option{}
	for i, parts := range b.parts {
		var data []option
		for _, p := range parts {
			// Slightly less: a sum that rounding lifts above 100 is off the axis, with its text.
			item := option{"value": 100 * p.share * (1 - 1e-9), "text": p.text, "row": p.row}
			if p.end != "" {
				item["label"] = option{"show": true, "position": "right", "formatter": p.end}
			}
			data = append(data, item)
		}
		series = append(series, option{"type": "bar", "name": segments[i].Name, "id": segments[i].Name, "stack": "all", "data": data,
			"color": segments[i].Colour, "barMaxWidth": 16})
	}
	return chart{
		Title: rows[0].Mode, Alt: alt(what, rows), Heads: b.heads, Height: 46 + 20*len(b.labels),
		Option: option{
			"xAxis":  option{"type": "value", "max": 100, "unit": "percent", "interval": 25},
			"yAxis":  option{"type": "category", "inverse": true, "data": b.labels, "axisLabel": option{"width": 130, "overflow": "truncate", "interval": 0}},
			"series": series,
		},
	}
}

// outcomes are the segments that the run has.
func outcomes(run *result.Run) (all []segment) {
	seen := map[records.Outcome]int{records.OK: 1, records.Cut: 1}
	for _, c := range run.Cells {
		for o, n := range c.Failed {
			seen[o] += n
		}
	}
	// Another version of piecebench may have written outcomes that are not listed.
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(seen)), func(o records.Outcome) bool { return slices.Contains(records.Outcomes, o) })
	for _, o := range slices.Concat(records.Outcomes, others) {
		if seen[o] > 0 {
			all = append(all, segment{string(o), cmp.Or(outcomeColours[o], otherColour)})
		}
	}
	return all
}

// stageColours are given to the stages of a run in their order; download has that of
// receiving.
var stageColours = []string{"#7cc4ec", "#e69f00", "#cc79a7", "#2f9e77", "#0072b2", "#882255", "#f0c75e"}

// outside is the time of jobs that is in no stage.
const outside = "other"

// stageSegments are the stages that the run has, and the time outside of them.
func stageSegments(v *report.View) (all []segment) {
	for _, f := range report.All(v.Rows) {
		if f.Jobs == nil {
			continue
		}
		for _, s := range f.Jobs.Stages {
			if !slices.ContainsFunc(all, func(known segment) bool { return known.Name == s.Name }) {
				all = append(all, segment{s.Name, stageColours[len(all)%len(stageColours)]})
			}
		}
	}
	return append(all, segment{outside, "#b9c0ca"})
}

// stagesChart is where the time of jobs went. Where stages overlap, their shares add up to more
// than the time, and the bars are of that sum.
func stagesChart(v *report.View, rows []*report.Row) chart {
	segments := stageSegments(v)
	var b bars
	for _, f := range report.All(rows) {
		if f.Jobs == nil {
			continue
		}
		shares := map[string]float64{}
		sum := f.Jobs.Other
		for _, s := range f.Jobs.Stages {
			shares[s.Name] = s.Share
			sum += s.Share
		}
		var parts []part
		for i, s := range segments {
			share := shares[s.Name]
			if i == len(segments)-1 {
				share = f.Jobs.Other
			}
			p := part{share: share / max(1e-9, sum)}
			if share > 0 {
				p.text = readable.WholePercent(share) + " of the time"
			}
			parts = append(parts, p)
		}
		parts[len(parts)-1].end = report.Quantile(f.Jobs.Time.P50, false)
		b.add(len(v.Targets), f, parts)
	}
	return b.chart(segments, rows, "Where the time of jobs went, by clients and target")
}

// outcomesChart is how the requests ended, as shares of all.
func outcomesChart(v *report.View, rows []*report.Row) chart {
	segments := outcomes(v.Run)
	var b bars
	for _, f := range report.All(rows) {
		all := f.OK + f.Failed + f.Cut
		var parts []part
		for _, s := range segments {
			n := int64(f.Failures(records.Outcome(s.Name)))
			switch s.Name {
			case string(records.OK):
				n = f.OK
			case string(records.Cut):
				n = f.Cut
			}
			p := part{share: float64(n) / float64(max(1, all))}
			if n > 0 {
				p.text = fmt.Sprintf("%d (%s)", n, readable.Percent(p.share))
			}
			parts = append(parts, p)
		}
		parts[len(parts)-1].end = strconv.FormatInt(all, 10)
		b.add(len(v.Targets), f, parts)
	}
	return b.chart(segments, rows, "Outcomes of requests, by clients and target")
}

// phasesChart is where the time of a request went, as shares of its duration.
func phasesChart(v *report.View, rows []*report.Row) chart {
	var b bars
	for _, f := range report.All(rows) {
		phases := f.Detail.Pooled.Phases
		if phases.Requests == 0 {
			continue
		}
		var parts []part
		for _, ms := range phases.Each() {
			p := part{share: ms / max(1e-9, phases.Duration())}
			if ms > 0 {
				p.text = fmt.Sprintf("%s (%s)", readable.Duration(ms), readable.WholePercent(p.share))
			}
			parts = append(parts, p)
		}
		parts[len(parts)-1].end = readable.Duration(phases.Duration())
		b.add(len(v.Targets), f, parts)
	}
	segments := phaseSegments
	if len(b.parts) > 0 && !slices.ContainsFunc(b.parts[0], func(p part) bool { return p.share > 0 }) { // mostly none is redirected
		segments, b.parts = segments[1:], b.parts[1:]
	}
	return b.chart(segments, rows, "Where the time of a request went, by clients and target")
}
