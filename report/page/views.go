package page

import (
	"math"
	"slices"

	"piecebench/bench/result"
	"piecebench/bench/stats"
	"piecebench/report"
)

// view is one of the charts' choices beside goodput.
type view struct {
	Name, Caption string
	Legend        []segment
	Quantiles     []quantile
	None          string // said where no chart has anything to show
	chart         func(*report.View, []*report.Row) chart
}

// quantile is one that the reader may hide.
type quantile struct {
	Name, Dash string
	On         bool // at first
}

func views(v *report.View) []view {
	const boundNote = "△: the value is at least this; requests that were cut make it unknowable."
	// Three lines for each of many targets are too many.
	some := func(quantiles []quantile, first string) []quantile {
		quantiles = slices.Clone(quantiles)
		for i := range quantiles {
			quantiles[i].On = len(v.Targets) <= 2 || quantiles[i].Name == first
		}
		return quantiles
	}
	quantiles := some(requestQuantiles, "p95")
	var all []view
	if v.Run.HasJobs() {
		all = []view{
			{"Job time", boundNote + " p100 is the longest job.", nil, some(jobTimes, "p50"), "There are no job times.", func(v *report.View, rows []*report.Row) chart {
				return quantilesChart(v, rows, "job time", jobTimes, jobQuantiles)
			}},
			{"Stages", "Where the time of jobs inside the window went; what is left of 100 % was outside of all stages. Beside the bar: the median job time. " +
				"Where stages overlap, their shares are of the sum.", stageSegments(v), nil, "There are no jobs.", stagesChart},
		}
	}
	return append(all, []view{
		{"TTFB", boundNote, nil, quantiles, "No request got a first byte.", func(v *report.View, rows []*report.Row) chart {
			return quantilesChart(v, rows, "time to first byte", requestQuantiles, threeQuantiles(func(f *report.Figures) result.Quantiles { return f.TTFB }))
		}},
		{"Duration", boundNote, nil, quantiles, "There are no durations.", func(v *report.View, rows []*report.Row) chart {
			return quantilesChart(v, rows, "duration", requestQuantiles, threeQuantiles(func(f *report.Figures) result.Quantiles { return f.Duration }))
		}},
		{"Outcomes", "Shares of the requests; their number beside the bar.", outcomes(v.Run), nil, "", outcomesChart},
		{"Phases", "Where the time of an ok request went; its mean duration beside the bar. Cut requests do not count.", phaseSegments, nil,
			"No records of ok requests are in the run’s folder.", phasesChart},
		{"CPU", "CPU time per delivered gigabyte: server solid, generator dashed.", nil, nil, "The CPU time of these targets is not known.", cpuChart},
	}...)
}

// link is a link with everything that was measured over it.
type link struct {
	Title, Detail string
	Goodput       []int   // charts, one a mode: indices into the page's list
	Views         [][]int // the same, by view; empty where there is nothing to show
	Summary, All  report.Table
	Jobs          report.Table // no lines where there are none
	Ceiling       bool
	Intervals     string // what the whiskers are; empty without repetitions
	Notes         []string
}

// newLink makes a link's part of the page, and adds its charts to all.
func newLink(v *report.View, l *report.Link, views []view, all *[]chart) link {
	h := link{Ceiling: l.HasCeiling(), All: v.AllFigures(l.Rows), Jobs: v.JobTable(l.Rows)}
	h.Title, h.Detail = l.Heading()
	h.Summary, h.Notes = v.Summary(l.Rows, math.MaxInt)
	for _, f := range report.All(l.Rows) {
		if len(f.Cells) >= stats.LeastForInterval {
			h.Intervals = "Whiskers: the " + report.Intervals + " of the mean of the repetitions. "
		}
	}
	add := func(c chart) int {
		c.Index = len(*all)
		*all = append(*all, c)
		return c.Index
	}
	for _, rows := range lineGroups(l) {
		h.Goodput = append(h.Goodput, add(goodputChart(v, l, rows)))
	}
	for _, view := range views {
		var charts []int
		groups := lineGroups(l)
		if view.Legend != nil { // stacked bars
			groups = l.Modes()
		}
		for _, rows := range groups {
			if c := view.chart(v, rows); !c.empty() {
				charts = append(charts, add(c))
			}
		}
		h.Views = append(h.Views, charts)
	}
	return h
}
