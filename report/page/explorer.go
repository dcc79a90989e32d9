package page

import (
	"math"
	"slices"
	"strconv"

	"piecebench/bench/detail"
	"piecebench/bench/readable"
	"piecebench/bench/result"
	"piecebench/report"
)

// explorer is what the page shows of a chosen row.
type explorer struct {
	Labels  []string   `json:"labels"` // of the facts
	Targets []string   `json:"targets"`
	Glyphs  []string   `json:"glyphs"`
	Rows    []explored `json:"rows"`  // by Row.Index
	First   int        `json:"first"` // shown when none was chosen
	Bound   string     `json:"bound"` // symbol
}

type explored struct {
	Link        string     `json:"link"`
	Mode        string     `json:"mode"`
	Clients     int        `json:"clients"`
	Name        string     `json:"name"`
	LinkName    string     `json:"linkName"`
	Pane        int        `json:"pane"`    // of its link
	Ceiling     number     `json:"ceiling"` // Mbit/s, 0 where unknown
	Window      number     `json:"window"`  // seconds
	Repetitions []int      `json:"repetitions"`
	Samples     [][]sample `json:"samples"` // by target: all repetitions together, then each of several; null without a cell
	Note        string     `json:"note"`    // about its records
}

// sample is one repetition of a target, or all together.
type sample struct {
	Facts    []string      `json:"facts"` // by label
	TTFB     *distribution `json:"ttfb,omitempty"`
	Duration *distribution `json:"duration,omitempty"`
	JobTime  *distribution `json:"job,omitempty"`
	Goodput  [][2]number   `json:"goodput,omitempty"` // seconds since the window's start, Mbit/s
}

// distribution is a detail.Distribution: milliseconds and shares of 1.
type distribution struct {
	Steps [][2]number `json:"steps"`
	End   number      `json:"end"`
}

// number is written with four digits, which is enough for a chart.
type number float64

func (f number) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(f), 'g', 4, 64), nil
}

func newExplorer(v *report.View) explorer {
	e := explorer{Targets: v.Targets, Bound: boundSymbol, Rows: []explored{}}
	for t := range v.Targets {
		e.Glyphs = append(e.Glyphs, markOf(t).glyph)
	}
	for _, f := range report.Facts {
		e.Labels = append(e.Labels, f.Label)
	}
	for pane, l := range v.Links {
		for _, r := range l.Rows {
			e.Rows = append(e.Rows, explore(r, pane))
		}
	}
	if worst := v.Worst(); worst != nil {
		e.First = worst.Index
	}
	return e
}

func explore(r *report.Row, pane int) explored {
	c := explored{Link: r.Link, Mode: r.Mode, Clients: r.Concurrency, Name: r.String(), LinkName: result.LinkName(r.Link), Pane: pane,
		Repetitions: []int{}, Samples: make([][]sample, len(r.Figures))}
	absent, broken, all := 0, 0, 0
	for _, f := range report.All([]*report.Row{r}) {
		c.Ceiling = max(c.Ceiling, number(f.Ceiling/1e6))
		all += len(f.Cells)
		absent += f.Detail.Absent
		broken += f.Detail.Broken
		samples := []sample{newSample(f)}
		for i, one := range f.Cells {
			c.Window = max(c.Window, number(one.WindowS))
			if len(f.Cells) == 1 {
				samples[0].Goodput = goodputSeries(one)
				continue
			}
			s := newSample(f.Repetition(i))
			s.Goodput = goodputSeries(one)
			samples = append(samples, s)
			if len(samples) > len(c.Repetitions)+1 {
				c.Repetitions = append(c.Repetitions, one.Repetition)
			}
		}
		c.Samples[f.Index] = samples
	}
	switch {
	case broken > 0:
		c.Note = "The records of " + readable.Count(broken, "cell") + " of this row cannot be read, so the distributions lack them."
	case absent == all:
		c.Note = "The records of the requests are not in this run’s folder, so there is no distribution to show."
	case absent > 0:
		c.Note = "The records of " + readable.Count(absent, "cell") + " of this row are not in the run’s folder, so the distributions lack them."
	}
	return c
}

func newSample(f *report.Figures) sample {
	s := sample{TTFB: newDistribution(f.Detail.Pooled.TTFB), Duration: newDistribution(f.Detail.Pooled.Duration), JobTime: newDistribution(f.Detail.Pooled.JobTime)}
	for _, fact := range report.Facts {
		s.Facts = append(s.Facts, fact.Text(f))
	}
	return s
}

func newDistribution(d detail.Distribution) *distribution {
	if d.EndMs == 0 {
		return nil
	}
	out := &distribution{Steps: [][2]number{}, End: number(d.EndMs)} // no step where all were cut
	for _, s := range d.Steps {
		out.Steps = append(out.Steps, [2]number{number(s.Ms), number(s.Share)})
	}
	return out
}

// maxSeconds is the most points of goodput over time; longer series are averaged.
const maxSeconds = 120

// goodputSeries leaves out what came after the window closed: part of a second, in which
// requests only stopped.
func goodputSeries(c result.Cell) [][2]number {
	series := c.Series
	if n := len(series); n > 1 && series[n-1].T > c.WindowS && series[n-1].T-series[n-2].T < 0.5 {
		series = series[:n-1]
	}
	per := (len(series) + maxSeconds - 1) / maxSeconds
	var out [][2]number
	for some := range slices.Chunk(series, max(1, per)) {
		sum := 0.0
		for _, p := range some {
			sum += p.DeliveredBits
		}
		out = append(out, [2]number{number(math.Round(100*min(some[len(some)-1].T, c.WindowS)) / 100), number(sum / float64(len(some)) / 1e6)})
	}
	return out
}
