package report

import (
	"slices"
	"strconv"
)

// heatmap shows how one target compares with the baseline in every cell of a
// run: a row per link and mode, a column per concurrency.
type heatmap struct {
	Title   string
	Note    string
	Columns []string // concurrencies
	Rows    []heatRow
}

type heatRow struct {
	Link, Mode string
	SameLink   bool // as the row above
	Cells      []heatCell
}

// heatCell is one ratio. Class is its colour, Title the two figures.
type heatCell struct {
	Text, Class, Title string
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
func (v *view) heatmaps() []heatmap {
	var all []heatmap
	for t := 1; t < len(v.targets); t++ {
		name, base := v.targets[t], v.targets[0]
		goodput := v.heatmap(func(r row) (heatCell, bool) {
			ratio, ok := r.ratio(t)
			if !ok {
				return heatCell{}, false
			}
			f, b := r.figures[t], r.figures[0]
			c := heatCell{threeDigits(ratio), heatClass(1/ratio, goodputSteps), megabits(f.goodput) + " against " + megabits(b.goodput) + " Mbit/s"}
			if nearBoth(f, b) {
				c.Class += " link"
			}
			return c, true
		})
		goodput.Title = "Goodput, " + name + " / " + base
		goodput.Note = "More is better. Underlined: both reached " + wholePercent(nearCeiling) + " of the link’s ceiling, so the link decided."
		ttfb := v.heatmap(func(r row) (heatCell, bool) {
			ratio, bound, ok := r.ttfbRatio(t)
			if !ok {
				return heatCell{}, false
			}
			c := heatCell{threeDigits(ratio), heatClass(ratio, ttfbSteps),
				quantile(r.figures[t].ttfb.P95, false) + " against " + quantile(r.figures[0].ttfb.P95, false)}
			if bound {
				c.Text = "> " + c.Text
			}
			return c, true
		})
		ttfb.Title = "TTFB p95, " + name + " / " + base
		ttfb.Note = "Less is better. Columns are concurrent clients."
		all = append(all, goodput, ttfb)
	}
	return all
}

func (v *view) heatmap(compare func(row) (heatCell, bool)) heatmap {
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
			h.Rows = append(h.Rows, heatRow{linkName(r.link), r.mode, same, slices.Repeat([]heatCell{{missing, "none", ""}}, len(steps))})
			last++
		}
		if c, ok := compare(r); ok {
			c.Title = r.place() + ": " + c.Title
			h.Rows[last].Cells[slices.Index(steps, r.concurrency)] = c
		}
	}
	return h
}

// nearBoth tells that both targets nearly filled the link.
func nearBoth(a, b *figures) bool {
	x, ok1 := a.share()
	y, ok2 := b.share()
	return ok1 && ok2 && x >= nearCeiling && y >= nearCeiling
}
