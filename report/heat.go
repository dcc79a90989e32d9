package report

import (
	"html/template"
	"slices"
	"strconv"
	"strings"

	"piecebench/bench/stats"
)

// heatmap shows every cell of a run: a row per link and mode, a column per
// concurrency. It compares a target with the baseline or, where there is only
// one target, shows its figures.
type heatmap struct {
	Title   string
	Note    string
	Columns []string // concurrencies
	Rows    []heatRow
}

// targetMaps are the heat maps of one target.
type targetMaps struct {
	Target string
	Maps   []heatmap
}

type heatRow struct {
	Link, Mode string
	SameLink   bool // as the row above
	Cells      []heatCell
}

// heatCell is a ratio or a figure. Class is its colour, Limit what limited the
// target, Title the figures, Key the cell in the page's address.
type heatCell struct {
	Text, Limit, Class, Title string
	Key                       template.URL
}

// heatStep is where the colour of a class begins, for factors by which a target is
// worse than the baseline. Up to 1.03 is what repeated runs of one server
// differ by.
type heatStep struct {
	upTo  float64
	class string
}

var (
	goodputSteps = []heatStep{{0.97, "better"}, {1.03, "even"}, {1.11, "worse1"}, {1.33, "worse2"}, {2, "worse3"}}
	ttfbSteps    = []heatStep{{0.9, "better"}, {1.1, "even"}, {1.5, "worse1"}, {2, "worse2"}, {4, "worse3"}}
)

func heatClass(worse float64, steps []heatStep) string {
	for _, s := range steps {
		if worse <= s.upTo {
			return s.class
		}
	}
	return "worst"
}

// heatmaps makes two for each target but the baseline: goodput and TTFB.
func (v *view) heatmaps() []targetMaps {
	if len(v.targets) == 1 {
		return []targetMaps{{v.targets[0], v.heatmapsOfOne()}}
	}
	var all []targetMaps
	for t := 1; t < len(v.targets); t++ {
		name, base := v.targets[t], v.targets[0]
		goodput := v.heatmap(func(r row) (heatCell, bool) {
			ratio, ok := r.ratio(t)
			if !ok {
				return heatCell{}, false
			}
			f, b := r.figures[t], r.figures[0]
			c := heatCell{Text: threeDigits(ratio), Limit: limitName(f.limitedBy), Class: heatClass(1/ratio, goodputSteps),
				Title: megabits(f.goodput) + " against " + megabits(b.goodput) + " Mbit/s"}
			if f.linkFull() && b.linkFull() {
				c.Class += " link"
			}
			if !r.judged(t) {
				c.Class, c.Title = machineClass, c.Title+"; "+machineWhy
			}
			if f.charged > 0 {
				c.Limit = f.failedShare() + " failed"
			}
			if f.because != "" {
				c.Title += "; " + name + ": " + f.because
			}
			return c, true
		})
		goodput.Title = "Goodput, " + name + " / " + base
		goodput.Note = "More is better. Below each ratio: what limited " + name + ". Underlined: both reached " + wholePercent(nearCeiling) + " of the link’s ceiling." +
			v.greyed(func(r row) bool { return !r.judged(t) }, "")
		ttfb := v.heatmap(func(r row) (heatCell, bool) {
			ratio, ok := r.ttfbRatio(t)
			if !ok {
				return heatCell{}, false
			}
			q := r.figures[t].ttfb.P95
			c := heatCell{Text: threeDigits(ratio.Low), Limit: quantile(q, false), Class: ttfbClass(ratio),
				Title: quantile(q, false) + " against " + quantile(r.figures[0].ttfb.P95, false)}
			switch {
			case ratio.Known():
			case ratio.Low > 0:
				c.Text = "> " + c.Text
			default:
				c.Text = "< " + threeDigits(ratio.High)
			}
			switch {
			case !r.judged(t):
				c.Class, c.Title = machineClass, c.Title+"; "+machineWhy
			case !r.timesJudged(t):
				c.Class, c.Title = machineClass, c.Title+"; "+lateWhy
			}
			return c, true
		})
		ttfb.Title = "TTFB p95, " + name + " / " + base
		ttfb.Note = "Less is better. Below each ratio: the TTFB of " + name + ". Columns are concurrent clients." +
			v.greyed(func(r row) bool { return !r.timesJudged(t) }, ", or the emulated delay was late")
		all = append(all, targetMaps{name, []heatmap{goodput, ttfb}})
	}
	return all
}

// A row that the machine decided is no finding about the servers: it is greyed.
const (
	machineClass = "machine"
	machineWhy   = "this machine limited it"
	lateWhy      = "the emulated delay was late"
)

// greyed explains the grey where there is any.
func (v *view) greyed(grey func(row) bool, also string) string {
	if !slices.ContainsFunc(v.rows(), grey) {
		return ""
	}
	return " Framed, in grey: this machine limited one of the two" + also + ", so they could not show how they differ."
}

// ttfbClass colours a ratio by what is known of it: a lower bound is at least so
// much worse, and shows nothing where that is not worse.
func ttfbClass(ratio stats.Range) string {
	low, high := heatClass(ratio.Low, ttfbSteps), heatClass(ratio.High, ttfbSteps)
	switch {
	case low == high || ratio.Low > ttfbSteps[1].upTo:
		return low
	case ratio.High <= ttfbSteps[0].upTo:
		return high
	}
	return "plain"
}

func (v *view) heatmapsOfOne() []heatmap {
	if len(v.links) == 0 {
		return nil
	}
	goodput := v.heatmap(func(r row) (heatCell, bool) {
		f := r.figures[0]
		c := heatCell{Text: megabits(f.goodput), Limit: limitName(f.limitedBy), Class: "plain", Title: f.because}
		if f.machine() {
			c.Class = machineClass
		}
		if share, ok := f.share(); ok {
			c.Text, c.Title = wholePercent(share), strings.TrimSuffix(megabits(f.goodput)+" Mbit/s; "+f.because, "; ")
		}
		return c, true
	})
	goodput.Title, goodput.Note = "Goodput, Mbit/s", "Below each figure: what limited the cell. Columns are concurrent clients."
	if slices.ContainsFunc(v.links, linkView.hasCeiling) {
		goodput.Title = "Goodput, share of the link’s ceiling"
	}
	ttfb := v.heatmap(func(r row) (heatCell, bool) {
		q := r.figures[0].ttfb
		return heatCell{Text: quantile(q.P95, false), Class: "plain", Title: "median " + quantile(q.P50, false)}, q.P95 != nil
	})
	ttfb.Title = "TTFB p95"
	return []heatmap{goodput, ttfb}
}

func (v *view) heatmap(show func(row) (heatCell, bool)) heatmap {
	var steps []int
	for _, r := range v.rows() {
		if !slices.Contains(steps, r.concurrency) {
			steps = append(steps, r.concurrency)
		}
	}
	slices.Sort(steps)
	var h heatmap
	for _, n := range steps {
		h.Columns = append(h.Columns, strconv.Itoa(n))
	}
	for _, r := range v.rows() {
		last := len(h.Rows) - 1
		if last < 0 || h.Rows[last].Link != linkName(r.link) || h.Rows[last].Mode != r.mode {
			same := last >= 0 && h.Rows[last].Link == linkName(r.link)
			h.Rows = append(h.Rows, heatRow{linkName(r.link), r.mode, same, slices.Repeat([]heatCell{{Text: missing, Class: "none"}}, len(steps))})
			last++
		}
		if c, ok := show(r); ok {
			c.Title, c.Key = strings.TrimSuffix(r.place()+": "+c.Title, ": "), r.key()
			h.Rows[last].Cells[slices.Index(steps, r.concurrency)] = c
		}
	}
	return h
}
