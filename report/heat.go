package report

import (
	"slices"
	"strconv"
	"strings"

	"piecebench/bench/result"
	"piecebench/bench/stats"
)

// Heatmap shows all rows of a run: a line for each link and mode, a column for each
// concurrency. It compares a target with the baseline. Of the only target it shows figures.
type Heatmap struct {
	Title, Note string
	Columns     []string // concurrencies
	Lines       []HeatLine
}

// HeatLine has a link's rows of one mode.
type HeatLine struct {
	Link, Mode string
	SameLink   bool // as in the line above
	Fields     []HeatField
}

// HeatField is a row's ratio or figure. Class is its colour, Below stands under the text, and
// Title has the figures behind it.
type HeatField struct {
	Text, Below, Class, Title string
	Row                       *Row // nil where there is none
}

// TargetMaps are the heat maps of one target.
type TargetMaps struct {
	Target string
	Maps   []Heatmap
}

// heatStep ends a class of colours, for factors by which a target is worse than the baseline.
type heatStep struct {
	upTo  float64
	class string
}

// Repeated runs of one server differ by up to 3 % in goodput.
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

// ttfbClass colours a ratio, or a bound of one where the bound shows enough.
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

// MachineClass is the colour of what the measuring machine decided: it shows nothing about
// the servers.
const MachineClass = "machine"

// Heatmaps are two for each target but the baseline: goodput, or job time, and TTFB.
func (v *View) Heatmaps() (all []TargetMaps) {
	if len(v.Targets) == 1 {
		return []TargetMaps{{v.Targets[0], v.heatmapsOfOne()}}
	}
	for t, name := range v.Targets {
		if t > 0 {
			first := v.goodputMap
			if v.Run.HasJobs() {
				first = v.jobMap
			}
			all = append(all, TargetMaps{name, []Heatmap{first(t), v.ttfbMap(t)}})
		}
	}
	return all
}

func (v *View) goodputMap(target int) Heatmap {
	name := v.Targets[target]
	h := v.heatmap(target, func(f *Figures) (HeatField, bool) {
		ratio, ok := f.Standing()
		if !ok {
			return HeatField{}, false
		}
		c := HeatField{Text: threeDigits(ratio), Below: f.limit(), Class: heatClass(1/ratio, goodputSteps),
			Title: megabits(f.Goodput) + " against " + megabits(f.Base.Goodput) + " Mbit/s"}
		if f.linkFull() && f.Base.linkFull() {
			c.Class += " link"
		}
		return f.explained(c, f.Charged, f.OK), true
	})
	h.Title = "Goodput, " + name + " / " + v.Targets[0]
	h.Note = "More is better. Below each ratio: what limited " + name + ". Underlined: both reached " + wholePercent(nearCeiling) + " of the link’s ceiling." +
		v.greyed(target, func(f *Figures) bool { return !f.Judged() }, "")
	return h
}

// explained adds to the field of a ratio what limited the two, and how many failed.
func (f *Figures) explained(c HeatField, failed, ok int64) HeatField {
	if !f.Judged() {
		c.Class, c.Title = MachineClass, c.Title+"; this machine limited it"
	}
	if failed > 0 {
		c.Below = percent(float64(failed)/float64(ok+failed)) + " failed"
	}
	if f.Because != "" {
		c.Title += "; " + f.Target + ": " + f.Because
	}
	return c
}

// jobMap colours as ttfbMap does: these are times.
func (v *View) jobMap(target int) Heatmap {
	name := v.Targets[target]
	h := v.heatmap(target, func(f *Figures) (HeatField, bool) {
		e := f.Compared()
		if !e.Known || f.Jobs == nil {
			return HeatField{}, false
		}
		q := Quantile(f.Jobs.Time.P50, false)
		c := HeatField{Text: ratioAlone(e), Below: f.limit(), Class: ttfbClass(rangeOf(e)), Title: q + " against " + Quantile(f.Base.Jobs.Time.P50, false)}
		return f.explained(c, f.Jobs.Failed, f.Jobs.OK), true
	})
	h.Title = "Job time p50, " + name + " / " + v.Targets[0]
	h.Note = "Less is better. Below each ratio: what limited " + name + "." + v.greyed(target, func(f *Figures) bool { return !f.Judged() }, "")
	return h
}

func (v *View) ttfbMap(target int) Heatmap {
	name := v.Targets[target]
	h := v.heatmap(target, func(f *Figures) (HeatField, bool) {
		ratio, ok := f.ttfbRatio()
		if !ok {
			return HeatField{}, false
		}
		q := Quantile(f.TTFB.P95, false)
		c := HeatField{Text: threeDigits(ratio.Low), Below: q, Class: ttfbClass(ratio), Title: q + " against " + Quantile(f.Base.TTFB.P95, false)}
		switch {
		case ratio.Known():
		case ratio.Low > 0:
			c.Text = "> " + c.Text
		default:
			c.Text = "< " + threeDigits(ratio.High)
		}
		switch {
		case !f.Judged():
			c.Class, c.Title = MachineClass, c.Title+"; this machine limited it"
		case !f.timesJudged():
			c.Class, c.Title = MachineClass, c.Title+"; the emulated delay was late"
		}
		return c, true
	})
	h.Title = "TTFB p95, " + name + " / " + v.Targets[0]
	h.Note = "Less is better. Below each ratio: the TTFB of " + name + ". Columns are concurrent clients." +
		v.greyed(target, func(f *Figures) bool { return f.Base != nil && !f.timesJudged() }, ", or the emulated delay was late")
	return h
}

// greyed explains the grey, where there is any.
func (v *View) greyed(target int, grey func(*Figures) bool, also string) string {
	if !slices.ContainsFunc(All(v.Rows), func(f *Figures) bool { return f.Target == v.Targets[target] && grey(f) }) {
		return ""
	}
	return " Framed, in grey: this machine limited one of the two" + also + ", so they do not show how they differ."
}

// alone is the field of a figure that is compared with nothing.
func (f *Figures) alone(text string) HeatField {
	c := HeatField{Text: text, Below: f.limit(), Class: "plain", Title: f.Because}
	if f.byMachine() {
		c.Class = MachineClass
	}
	return c
}

func (v *View) heatmapsOfOne() []Heatmap {
	if v.Run.HasJobs() {
		jobs := v.heatmap(0, func(f *Figures) (HeatField, bool) {
			if f.Jobs == nil || f.Jobs.Time.P50 == nil {
				return HeatField{}, false
			}
			return f.alone(Quantile(f.Jobs.Time.P50, false)), true
		})
		jobs.Title, jobs.Note = "Job time p50", "Below each figure: what limited it. Columns are concurrent clients."
		return []Heatmap{jobs, v.ttfbOfOne()}
	}
	goodput := v.heatmap(0, func(f *Figures) (HeatField, bool) {
		c := f.alone(megabits(f.Goodput))
		if share, ok := f.Share(); ok {
			c.Text, c.Title = wholePercent(share), strings.TrimSuffix(megabits(f.Goodput)+" Mbit/s; "+f.Because, "; ")
		}
		return c, true
	})
	goodput.Title, goodput.Note = "Goodput, Mbit/s", "Below each figure: what limited it. Columns are concurrent clients."
	if slices.ContainsFunc(v.Links, (*Link).HasCeiling) {
		goodput.Title = "Goodput, share of the link’s ceiling"
	}
	return []Heatmap{goodput, v.ttfbOfOne()}
}

func (v *View) ttfbOfOne() Heatmap {
	ttfb := v.heatmap(0, func(f *Figures) (HeatField, bool) {
		return HeatField{Text: Quantile(f.TTFB.P95, false), Class: "plain", Title: "median " + Quantile(f.TTFB.P50, false)}, f.TTFB.P95 != nil
	})
	ttfb.Title = "TTFB p95"
	return ttfb
}

func (v *View) heatmap(target int, show func(*Figures) (HeatField, bool)) (h Heatmap) {
	var steps []int
	for _, r := range v.Rows {
		if !slices.Contains(steps, r.Concurrency) {
			steps = append(steps, r.Concurrency)
		}
	}
	slices.Sort(steps)
	for _, n := range steps {
		h.Columns = append(h.Columns, strconv.Itoa(n))
	}
	for i, r := range v.Rows {
		link := result.LinkName(r.Link)
		same := i > 0 && v.Rows[i-1].Link == r.Link
		if !same || v.Rows[i-1].Mode != r.Mode {
			h.Lines = append(h.Lines, HeatLine{link, r.Mode, same, slices.Repeat([]HeatField{{Text: Missing, Class: "none"}}, len(steps))})
		}
		f := r.Figures[target]
		if f == nil {
			continue
		}
		if c, ok := show(f); ok {
			c.Title, c.Row = strings.TrimSuffix(r.String()+": "+c.Title, ": "), r
			h.Lines[len(h.Lines)-1].Fields[slices.Index(steps, r.Concurrency)] = c
		}
	}
	return h
}
