package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"piecebench/bench/compare"
	"piecebench/bench/readable"
	"piecebench/bench/result"
	"piecebench/bench/stats"
	"piecebench/report"
)

// chart is one plot of the page.
type chart struct {
	Index  int    `json:"-"` // among the page's
	Title  string `json:"-"`
	Alt    string `json:"-"` // for those who cannot see it
	Height int    `json:"-"` // pixels
	Option option `json:"option"`
	// Heads are the titles of the tooltips of stacked bars, one a bar. Those of lines are the
	// number of clients.
	Heads []string `json:"heads,omitempty"`
	// Log lets the reader make the value axis logarithmic.
	Log bool `json:"log,omitempty"`
	// Across is set where lines are against the modes, not against concurrency.
	Across bool `json:"across,omitempty"`
}

// lineHeight is the height of line charts.
const lineHeight = 230

// point is one value of a series, with the text of its tooltip and its row, an index into the
// explorer's.
type point struct {
	Value      [2]any  `json:"value"`
	Text       string  `json:"text"`
	Row        int     `json:"row"`
	Symbol     string  `json:"symbol,omitempty"`
	SymbolSize float64 `json:"symbolSize,omitempty"`
}

// curve is one line of a chart. Curves of one target share colour and symbol.
type curve struct {
	target string
	index  int // of the target
	suffix string
	dash   string // of the line
	points []point
}

// curvesOf returns an empty curve of each kind for each target.
func curvesOf(v *report.View, kinds ...curve) (curves []curve) {
	for t, name := range v.Targets {
		for _, c := range kinds {
			c.target, c.index = name, t
			curves = append(curves, c)
		}
	}
	return curves
}

func (c *curve) add(x xAxis, f *report.Figures, y float64, text string) {
	c.points = append(c.points, point{Value: x.at(f.Row, y), Text: text, Row: f.Row.Index})
}

// boundSymbol points up and is open: the true value is above. ECharts would fill its own open
// triangle with white.
const boundSymbol = "path://M0,-10L10,8L-10,8ZM0,-5L-6,5.5L6,5.5Z"

// Quantiles of requests and of jobs, and their lines.
var (
	requestQuantiles = []quantile{{Name: "p50", Dash: "solid"}, {Name: "p95", Dash: "dashed"}, {Name: "p99", Dash: "dotted"}}
	jobTimes         = []quantile{{Name: "p50", Dash: "solid"}, {Name: "p90", Dash: "dashed"}, {Name: "p99", Dash: "dotted"}, {Name: "p100", Dash: "dotted"}}
)

// alt describes a chart of a mode's rows.
func alt(what string, rows []*report.Row) string {
	return fmt.Sprintf("%s, %s over %s; the table below has the figures", what, rows[0].Mode, result.LinkName(rows[0].Link))
}

// goodputChart has the ceiling and, where repetitions give one, the interval of the mean. All
// charts of a link have the same scale.
func goodputChart(v *report.View, l *report.Link, rows []*report.Row) chart {
	x := newXAxis(rows)
	greatest := 0.0
	for _, f := range report.All(l.Rows) {
		greatest = max(greatest, f.Goodput, f.Ceiling)
	}
	unit, scale := "Mbit/s", 1e6
	if greatest >= 2e9 {
		unit, scale = "Gbit/s", 1e9
	}
	ceiling := 0.0
	curves := curvesOf(v, curve{})
	whiskers := make([][]option, len(v.Targets))
	for _, f := range report.All(rows) {
		ceiling = max(ceiling, f.Ceiling)
		text := readable.Megabits(f.Goodput) + " Mbit/s"
		if share, ok := f.Share(); ok {
			text += ", " + readable.WholePercent(share) + " of the ceiling"
		}
		if low, high, ok := goodputInterval(f); ok {
			text += fmt.Sprintf(" (%s to %s)", readable.Megabits(low), readable.Megabits(high))
			at := x.at(f.Row, low/scale)
			whiskers[f.Index] = append(whiskers[f.Index], option{"value": [3]any{at[0], at[1], high / scale}})
		}
		curves[f.Index].add(x, f, f.Goodput/scale, text)
	}
	series := seriesOf(curves)
	for t, name := range v.Targets {
		if whiskers[t] != nil {
			series = append(series, option{"type": "custom", "name": name, "id": name + " interval", "data": whiskers[t],
				"encode": option{"x": 0, "y": []int{1, 2}}, "silent": true, "clip": true, "z": 1})
		}
	}
	if ceiling > 0 {
		series = append(series, x.level("ceiling", ceiling/scale, readable.Megabits(ceiling)+" Mbit/s"))
	}
	c := lines(rows, "Goodput", x, option{"type": "value", "min": 0, "max": scaleEnd(greatest / scale)}, series)
	c.Title += ", " + unit
	c.Log = true
	return c
}

// lines is a chart of lines against concurrency, or against the modes.
func lines(rows []*report.Row, what string, x xAxis, yAxis option, series []option) chart {
	c := chart{Title: rows[0].Mode, Alt: alt(what+" against concurrency", rows), Height: lineHeight,
		Option: option{"xAxis": x.axis, "yAxis": yAxis, "series": series}, Across: x.across}
	if x.across {
		c.Title = readable.Count(rows[0].Concurrency, "client")
		c.Alt = fmt.Sprintf("%s against the modes, %s; the table below has the figures", what, result.LinkName(rows[0].Link))
	}
	return c
}

// scaleEnd is the least end of a linear axis, with a tick at it, that shows v.
func scaleEnd(v float64) float64 {
	step := 1.0
	for ; step*10 < v; step *= 10 {
	}
	for ; step > v; step /= 10 {
	}
	for _, end := range []float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10} {
		if end*step >= v*1.02 {
			return end * step
		}
	}
	return 12 * step
}

// goodputInterval is the interval of the mean goodput over repetitions, in bit/s.
func goodputInterval(f *report.Figures) (low, high float64, ok bool) {
	var each []float64
	for _, c := range f.Cells {
		each = append(each, c.GoodputBits())
	}
	low, high, ok = stats.MeanInterval(each, compare.Confidence)
	return max(0, low), high, ok
}

// threeQuantiles are those of TTFB or duration.
func threeQuantiles(of func(*report.Figures) result.Quantiles) func(*report.Figures) ([]*result.Quantile, bool) {
	return func(f *report.Figures) ([]*result.Quantile, bool) {
		q := of(f)
		return []*result.Quantile{q.P50, q.P95, q.P99}, f.WarmupQuantiles
	}
}

// jobQuantiles are those of job times.
func jobQuantiles(f *report.Figures) ([]*result.Quantile, bool) {
	if f.Jobs == nil {
		return nil, false
	}
	return f.Jobs.Each(), f.Jobs.Warmup
}

// quantilesChart is some named quantiles of a time. of also tells whether they include the
// warm-up.
func quantilesChart(v *report.View, rows []*report.Row, what string, names []quantile, of func(*report.Figures) ([]*result.Quantile, bool)) chart {
	x := newXAxis(rows)
	var kinds []curve
	for _, q := range names {
		kinds = append(kinds, curve{suffix: q.Name, dash: q.Dash})
	}
	curves := curvesOf(v, kinds...)
	for _, f := range report.All(rows) {
		quantiles, warmup := of(f)
		for i, q := range quantiles {
			if q == nil || q.Ms <= 0 { // a logarithmic axis has no zero
				continue
			}
			c := &curves[len(kinds)*f.Index+i]
			c.add(x, f, q.Ms, c.suffix+" "+report.Quantile(q, warmup))
			if p := &c.points[len(c.points)-1]; q.Bound {
				p.Symbol, p.SymbolSize = boundSymbol, 11
			}
		}
	}
	return lines(rows, "Quantiles of "+what, x, option{"type": "log", "unit": "time"}, seriesOf(curves))
}

// cpuChart is CPU time per delivered gigabyte.
func cpuChart(v *report.View, rows []*report.Row) chart {
	x := newXAxis(rows)
	curves := curvesOf(v, curve{suffix: "server"}, curve{suffix: "generator", dash: "dashed"})
	for _, f := range report.All(rows) {
		for i, of := range []func(result.Cell) *float64{report.ServerSeconds, report.GeneratorSeconds} {
			if s, ok := f.Mean(of); ok {
				c := &curves[2*f.Index+i]
				c.add(x, f, s, c.suffix+" "+readable.ThreeDigits(s)+" s/GB")
			}
		}
	}
	c := lines(rows, "CPU time per gigabyte", x, option{"type": "value", "min": 0}, seriesOf(curves))
	c.Title += ", s/GB"
	return c
}

// empty tells whether a chart has nothing to show.
func (c chart) empty() bool {
	series, _ := c.Option["series"].([]option)
	return !slices.ContainsFunc(series, func(s option) bool {
		points, ok := s["data"].([]point)
		return len(points) > 0 || !ok
	})
}

func seriesOf(curves []curve) (all []option) {
	for _, c := range curves {
		mark := markOf(c.index)
		width, size := 2.0, 6.0
		if c.index == 0 && c.suffix == "" { // visible below another line
			width, size = 3.5, 9
		}
		all = append(all, option{"type": "line", "name": c.target, "id": strings.TrimSpace(c.target + " " + c.suffix), "part": c.suffix,
			"data":      append([]point{}, c.points...), // null is no list
			"lineStyle": option{"width": width, "type": cmp.Or(c.dash, "solid")}, "symbol": mark.symbol, "symbolRotate": mark.rotate, "symbolSize": size})
	}
	return all
}

// xAxis is the axis of concurrency or, across modes that are numbers, of these: logarithmic,
// with a tick at each measured value. One value alone is a category.
type xAxis struct {
	axis   option
	values []int
	across bool
}

func newXAxis(rows []*report.Row) xAxis {
	x := xAxis{across: rows[0].Mode != rows[len(rows)-1].Mode}
	for _, r := range rows {
		if v := x.of(r); !slices.Contains(x.values, v) {
			x.values = append(x.values, v)
		}
	}
	slices.Sort(x.values)
	if len(x.values) == 1 {
		x.axis = option{"type": "category", "data": []string{fmt.Sprint(x.values[0])}}
	} else {
		x.axis = option{"type": "log", "min": x.values[0], "max": x.values[len(x.values)-1],
			"axisTick":  option{"customValues": x.values},
			"axisLabel": option{"customValues": x.values, "hideOverlap": true}}
	}
	x.axis["name"] = "clients"
	if x.across {
		x.axis["name"] = "mode"
	}
	return x
}

// of is where a row is on the axis.
func (x xAxis) of(r *report.Row) int {
	if x.across {
		n, _ := modeNumber(r)
		return n
	}
	return r.Concurrency
}

func (x xAxis) at(r *report.Row, y float64) [2]any { return x.point(x.of(r), y) }

func (x xAxis) point(value int, y float64) [2]any {
	if len(x.values) == 1 {
		return [2]any{fmt.Sprint(value), y}
	}
	return [2]any{value, y}
}

// modeNumber is a mode that is a number, such as the blocks of a batch.
func modeNumber(r *report.Row) (int, bool) {
	n, err := strconv.Atoi(r.Mode)
	return n, err == nil && n > 0
}

// lineGroups are the rows of each chart of lines: those of a mode. Where all modes are numbers
// and have one concurrency, a chart shows all of them.
func lineGroups(l *report.Link) [][]*report.Row {
	modes := l.Modes()
	if len(modes) < 2 {
		return modes
	}
	for _, rows := range modes {
		if _, isNumber := modeNumber(rows[0]); !isNumber || len(rows) > 1 || rows[0].Concurrency != l.Rows[0].Concurrency {
			return modes
		}
	}
	rows := slices.Concat(modes...)
	slices.SortFunc(rows, func(a, b *report.Row) int {
		x, _ := modeNumber(a)
		y, _ := modeNumber(b)
		return x - y
	})
	return [][]*report.Row{rows}
}

// level is a horizontal line over the whole axis.
func (x xAxis) level(name string, y float64, text string) option {
	var points []option
	for _, v := range x.values {
		points = append(points, option{"value": x.point(v, y), "text": text})
	}
	s := option{"type": "line", "name": name, "id": name, "data": points, "symbol": "none", "z": 1,
		"color": levelColour, "lineStyle": option{"type": "dotted", "width": 2, "color": levelColour}}
	if len(x.values) == 1 { // a line needs two points
		s["markLine"] = option{"symbol": "none", "silent": true, "label": option{"show": false}, "data": []option{{"yAxis": y}}}
	}
	return s
}
