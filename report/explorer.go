package report

import (
	"html/template"
	"math"
	"net/url"
	"slices"
	"strconv"

	"piecebench/bench/detail"
	"piecebench/bench/result"
)

// explorer is what the page shows of a chosen cell: a link, mode and
// concurrency with all its targets.
type explorer struct {
	Labels  []string   `json:"labels"` // of the facts
	Targets []string   `json:"targets"`
	Glyphs  []string   `json:"glyphs"`
	Cells   []explored `json:"cells"` // by row.index
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
	Samples     [][]sample `json:"samples"` // by target: all repetitions together, then one by one where there are more; null without a cell
	Note        string     `json:"note"`    // about its records
}

// sample is one repetition of a target, or all together.
type sample struct {
	Facts    []string      `json:"facts"` // by label
	TTFB     *distribution `json:"ttfb,omitempty"`
	Duration *distribution `json:"duration,omitempty"`
	Goodput  [][2]number   `json:"goodput,omitempty"` // seconds since the window's start, Mbit/s
}

// distribution is a detail.Distribution: milliseconds and shares of 1.
type distribution struct {
	Steps [][2]number `json:"steps"`
	End   number      `json:"end"`
}

// number is a number of which a chart needs four digits.
type number float64

func (f number) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(f), 'g', 4, 64), nil
}

// key names the cell in the page's address, after the #. It is escaped.
func (r row) key() template.URL {
	return template.URL(url.Values{"link": {r.link}, "mode": {r.mode}, "clients": {strconv.Itoa(r.concurrency)}}.Encode())
}

func (v *view) explorer() explorer {
	e := explorer{Targets: v.targets, Bound: boundSymbol, Cells: []explored{}}
	for t := range v.targets {
		e.Glyphs = append(e.Glyphs, targetMarks[t%len(targetMarks)].glyph)
	}
	for _, f := range facts {
		e.Labels = append(e.Labels, f.label)
	}
	for pane, l := range v.links {
		for _, r := range l.rows {
			e.Cells = append(e.Cells, v.explored(r, pane))
		}
	}
	e.First = v.worst()
	return e
}

func (v *view) explored(r row, pane int) explored {
	c := explored{Link: r.link, Mode: r.mode, Clients: r.concurrency, Name: r.place(), LinkName: linkName(r.link), Pane: pane,
		Repetitions: []int{}, Samples: make([][]sample, len(r.figures))}
	absent, broken, all := 0, 0, 0
	for t, f := range r.figures {
		if f == nil {
			continue
		}
		c.Ceiling = max(c.Ceiling, number(f.ceiling/1e6))
		all += len(f.cells)
		absent += f.detail.Absent
		broken += f.detail.Broken
		samples := []sample{v.sample(r, t, f, f.detail.Pooled)}
		for i, one := range f.cells {
			c.Window = max(c.Window, number(one.WindowS))
			if len(f.cells) == 1 {
				samples[0].Goodput = goodputSeries(one)
				continue
			}
			single := &figures{cells: []result.Cell{one}}
			single.combine()
			s := v.sample(r, t, single, each(f.detail, i))
			s.Goodput = goodputSeries(one)
			samples = append(samples, s)
			if len(samples) > len(c.Repetitions)+1 {
				c.Repetitions = append(c.Repetitions, one.Repetition)
			}
		}
		c.Samples[t] = samples
	}
	switch {
	case broken > 0:
		c.Note = "The records of " + count(broken, "cell") + " of this place cannot be read, so the distributions lack them."
	case absent == all:
		c.Note = "The records of the requests are not in this run’s folder, so there is no distribution to show."
	case absent > 0:
		c.Note = "The records of " + count(absent, "cell") + " of this place are not in the run’s folder, so the distributions lack them."
	}
	return c
}

func each(d detail.Repetitions, i int) detail.Detail {
	if i < len(d.Each) {
		return d.Each[i]
	}
	return detail.Detail{}
}

func (v *view) sample(r row, t int, f *figures, d detail.Detail) sample {
	s := sample{TTFB: newDistribution(d.TTFB), Duration: newDistribution(d.Duration)}
	for _, fact := range facts {
		s.Facts = append(s.Facts, fact.text(v, r, t, f))
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

// maxSeconds is how many points of goodput over time are shown of a cell;
// longer ones are averaged.
const maxSeconds = 120

// goodputSeries leaves out what came after the window closed: a part of a
// second in which requests only stopped.
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

// worst is the row in which a target falls behind the most, by goodput; of one
// target the row with the most clients of the first link.
func (v *view) worst() int {
	index, least := 0, 0.0
	for _, r := range v.rows() {
		for t := 1; t < len(v.targets); t++ {
			if ratio, ok := r.ratio(t); ok && r.judged(t) && (least == 0 || ratio < least) {
				index, least = r.index, ratio
			}
		}
	}
	if least == 0 && len(v.links) > 0 && len(v.links[0].rows) > 0 {
		index = v.links[0].rows[len(v.links[0].rows)-1].index
	}
	return index
}
