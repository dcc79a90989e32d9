package report

import (
	"slices"
	"strings"

	"piecebench/bench/result"
	"piecebench/bench/stats"
)

// htmlView is one of the ways to look at the cells of a link beside goodput; the
// reader chooses.
type htmlView struct {
	Name, Caption string
	Legend        []segment
	Quantiles     []htmlQuantile
	make          func(*view, modeRows) chart
	none          string // said where no chart has anything to show
}

// htmlQuantile is a quantile that the reader may leave out of a view.
type htmlQuantile struct {
	Name, Dash string
	On         bool // at first
}

// htmlLink is a link with everything that was measured over it.
type htmlLink struct {
	Title, Detail     string
	Goodput           []int   // charts, one a mode: indices into the page's list
	Views             [][]int // the same, by the page's views; empty where there is nothing to show
	GoodputTitle      string
	Figures, Requests htmlTable
	Ceiling           bool
	Intervals         string   // what the whiskers are; empty without repetitions
	Notes             []string // on the tables
}

const boundNote = "△: the value is at least this; requests that were cut make it unknowable."

func (v *view) views() []htmlView {
	var quantiles []htmlQuantile
	for i, name := range quantileNames {
		// Three lines for each of many targets are a thicket.
		quantiles = append(quantiles, htmlQuantile{name, quantileDashes[i], len(v.targets) <= 2 || name == "p95"})
	}
	return []htmlView{
		{Name: "TTFB", Caption: boundNote, Quantiles: quantiles,
			make: func(v *view, m modeRows) chart {
				return v.quantilesChart(m, "time to first byte", func(f *figures) result.Quantiles { return f.ttfb })
			}, none: "No request got a first byte."},
		{Name: "Duration", Caption: boundNote, Quantiles: quantiles,
			make: func(v *view, m modeRows) chart {
				return v.quantilesChart(m, "duration", func(f *figures) result.Quantiles { return f.duration })
			}, none: "There are no durations."},
		{Name: "Outcomes", Caption: "Shares of the requests; their number beside the bar.", Legend: v.outcomes(), make: (*view).outcomesChart},
		{Name: "Phases", Caption: "Where the time of an ok request went; its mean duration beside the bar. Requests that were cut are not among them.",
			Legend: phaseSegments, make: (*view).phasesChart,
			none: "No records of requests that ended well are in the run’s folder."},
		{Name: "CPU", Caption: "CPU time per delivered gigabyte: server solid, generator dashed.", make: (*view).cpuChart,
			none: "The CPU time of these targets could not be seen."},
	}
}

// htmlLink makes a link's part of the page and adds its charts to all.
func (v *view) htmlLink(l linkView, all *[]chart) htmlLink {
	h := htmlLink{Ceiling: l.hasCeiling(), GoodputTitle: l.goodputTitle()}
	h.Title, h.Detail = l.heading()
	h.Figures, h.Requests = v.goodput(l).html(1), v.requests(l).html(2)
	add := func(c chart) int {
		c.Index = len(*all)
		*all = append(*all, c)
		return c.Index
	}
	if slices.ContainsFunc(l.rows, func(r row) bool {
		return slices.ContainsFunc(r.figures, func(f *figures) bool { return f != nil && len(f.cells) >= stats.LeastForInterval })
	}) {
		h.Intervals = "Whiskers: the " + intervals + " of the mean of the repetitions. "
	}
	modes := l.modes()
	for _, m := range modes {
		h.Goodput = append(h.Goodput, add(v.goodputChart(l, m)))
	}
	for _, view := range v.views() {
		var charts []int
		for _, m := range modes {
			if c := view.make(v, m); !c.empty() {
				charts = append(charts, add(c))
			}
		}
		h.Views = append(h.Views, charts)
	}
	for _, line := range h.Figures.Rows {
		for i := range line {
			if strings.HasSuffix(line[i].Text, machineMark) {
				line[i].Class = machineClass
			}
		}
	}
	h.Notes = v.tableNotes(l)
	// The number of clients leads to the cell.
	row := 0 // of the requests, which have one a target
	for i, r := range l.rows {
		h.Figures.Rows[i][1].Key = r.key()
		for _, f := range r.figures {
			if f != nil {
				h.Requests.Rows[row][1].Key = r.key()
				row++
			}
		}
	}
	return h
}

// tableNotes explain what the tables of a link on the page have in them.
func (v *view) tableNotes(l linkView) (notes []string) {
	if note := v.noIntervals(); note != "" {
		notes = append(notes, note)
	}
	if slices.ContainsFunc(l.rows, func(r row) bool { return r.machineDecided() }) {
		notes = append(notes, machineNote)
	}
	if l.hasWarmupMark() {
		notes = append(notes, warmupNote)
	}
	return notes
}

// None is said of a view where there is nothing to show.
func (h htmlView) None() string { return h.none }
