package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"piecebench/bench/compare"
	"piecebench/bench/result"
	"piecebench/bench/stats"
)

// chart is one plot of the page.
type chart struct {
	Index  int    `json:"-"` // among the page's
	Title  string `json:"-"`
	Alt    string `json:"-"` // for those who cannot see it
	Height int    `json:"-"` // pixels
	Option option `json:"option"`
	// Heads are the titles of the tooltips of stacked bars, a bar each. Of lines
	// they are the number of clients.
	Heads []string `json:"heads,omitempty"`
	// Log marks a value axis that the reader may switch to a logarithmic one.
	Log bool `json:"log,omitempty"`
}

// lineHeight is the height of line charts.
const lineHeight = 230

// point is one value of a series, with the text of its tooltip and the cell
// that it belongs to, an index into the explorer's.
type point struct {
	Value      [2]any  `json:"value"`
	Text       string  `json:"text"`
	Cell       int     `json:"cell"`
	Symbol     string  `json:"symbol,omitempty"`
	SymbolSize float64 `json:"symbolSize,omitempty"`
}

// curve is one line of a chart. Curves of one target share colour and symbol.
type curve struct {
	target, suffix string
	dash           string // of the line
	points         []point
}

// boundSymbol points up and is open: the true value is above. ECharts would
// fill its own open triangle with white.
const boundSymbol = "path://M0,-10L10,8L-10,8ZM0,-5L-6,5.5L6,5.5Z"

// Quantiles and their lines.
var (
	quantileNames  = []string{"p50", "p95", "p99"}
	quantileDashes = []string{"solid", "dashed", "dotted"}
)

// modeRows are the rows of a link that have one mode.
type modeRows struct {
	link, mode string
	rows       []row
}

func (l linkView) modes() []modeRows {
	var all []modeRows
	for _, r := range l.rows {
		if n := len(all); n == 0 || all[n-1].mode != r.mode {
			all = append(all, modeRows{link: l.name, mode: r.mode})
		}
		last := &all[len(all)-1]
		last.rows = append(last.rows, r)
	}
	return all
}

func (m modeRows) alt(what string) string {
	return fmt.Sprintf("%s, %s over %s; the table below has the figures", what, m.mode, linkName(m.link))
}

// goodputChart is goodput against concurrency with the ceiling and, where
// repetitions give one, the interval of the mean. All charts of a link have the
// same scale.
func (v *view) goodputChart(l linkView, m modeRows) chart {
	x := newXAxis(m.rows)
	greatest := 0.0
	for _, r := range l.rows {
		for _, f := range r.figures {
			if f != nil {
				greatest = max(greatest, f.goodput, f.ceiling)
			}
		}
	}
	unit, scale := "Mbit/s", 1e6
	if greatest >= 2e9 {
		unit, scale = "Gbit/s", 1e9
	}
	ceiling := 0.0
	var curves []curve
	var intervals []option
	for t, name := range v.targets {
		c := curve{target: name}
		var whiskers []option
		for _, r := range m.rows {
			f := r.figures[t]
			if f == nil {
				continue
			}
			ceiling = max(ceiling, f.ceiling)
			text := megabits(f.goodput) + " Mbit/s"
			if share, ok := f.share(); ok {
				text += ", " + wholePercent(share) + " of the ceiling"
			}
			if low, high, ok := f.goodputInterval(); ok {
				text += fmt.Sprintf(" (%s to %s)", megabits(low), megabits(high))
				at := x.at(r.concurrency, low/scale)
				whiskers = append(whiskers, option{"value": [3]any{at[0], at[1], high / scale}})
			}
			c.points = append(c.points, point{Value: x.at(r.concurrency, f.goodput/scale), Text: text, Cell: r.index})
		}
		curves = append(curves, c)
		if whiskers != nil {
			intervals = append(intervals, option{"type": "custom", "name": name, "id": name + " interval", "data": whiskers,
				"encode": option{"x": 0, "y": []int{1, 2}}, "silent": true, "clip": true, "z": 1})
		}
	}
	series := append(v.seriesOf(curves), intervals...)
	if ceiling > 0 {
		series = append(series, x.level("ceiling", ceiling/scale, megabits(ceiling)+" Mbit/s"))
	}
	return chart{
		Title:  m.mode + ", " + unit,
		Alt:    m.alt("Goodput against concurrency"),
		Height: lineHeight,
		Option: option{"xAxis": x.axis, "yAxis": option{"type": "value", "min": 0, "max": scaleEnd(greatest / scale)}, "series": series},
		Log:    true,
	}
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
func (f *figures) goodputInterval() (low, high float64, ok bool) {
	var each []float64
	for _, c := range f.cells {
		each = append(each, c.GoodputBits())
	}
	low, high, ok = stats.MeanInterval(each, compare.Confidence)
	return max(0, low), high, ok
}

// quantilesChart is three quantiles of TTFB or duration against concurrency.
func (v *view) quantilesChart(m modeRows, what string, of func(*figures) result.Quantiles) chart {
	x := newXAxis(m.rows)
	var curves []curve
	for t, name := range v.targets {
		three := make([]curve, len(quantileNames))
		for i, q := range quantileNames {
			three[i] = curve{target: name, suffix: q, dash: quantileDashes[i]}
		}
		for _, r := range m.rows {
			if f := r.figures[t]; f != nil {
				q := of(f)
				for i, q := range []*result.Quantile{q.P50, q.P95, q.P99} {
					three[i].add(x, r, q, f.warmupQuantiles)
				}
			}
		}
		curves = append(curves, three...)
	}
	return chart{
		Title:  m.mode,
		Alt:    m.alt("Quantiles of " + what + " against concurrency"),
		Height: lineHeight,
		Option: option{"xAxis": x.axis, "yAxis": option{"type": "log", "unit": "time"}, "series": v.seriesOf(curves)},
	}
}

func (c *curve) add(x xAxis, r row, q *result.Quantile, warmup bool) {
	if q == nil || q.Ms <= 0 { // a logarithmic axis has no zero
		return
	}
	p := point{Value: x.at(r.concurrency, q.Ms), Text: strings.TrimSpace(c.suffix + " " + quantile(q, warmup)), Cell: r.index}
	if q.Bound {
		p.Symbol, p.SymbolSize = boundSymbol, 11
	}
	c.points = append(c.points, p)
}

// cpuChart is CPU time per delivered gigabyte against concurrency.
func (v *view) cpuChart(m modeRows) chart {
	x := newXAxis(m.rows)
	var curves []curve
	for t, name := range v.targets {
		server, generator := curve{target: name, suffix: "server"}, curve{target: name, suffix: "generator", dash: "dashed"}
		for _, r := range m.rows {
			f := r.figures[t]
			if f == nil {
				continue
			}
			for _, of := range []struct {
				curve *curve
				value func(result.Cell) *float64
			}{{&server, serverSeconds}, {&generator, generatorSeconds}} {
				if s, ok := f.mean(of.value); ok {
					of.curve.points = append(of.curve.points, point{Value: x.at(r.concurrency, s), Text: of.curve.suffix + " " + threeDigits(s) + " s/GB", Cell: r.index})
				}
			}
		}
		curves = append(curves, server, generator)
	}
	return chart{
		Title:  m.mode + ", s/GB",
		Alt:    m.alt("CPU time per gigabyte against concurrency"),
		Height: lineHeight,
		Option: option{"xAxis": x.axis, "yAxis": option{"type": "value", "min": 0}, "series": v.seriesOf(curves)},
	}
}

// empty tells that a chart has nothing to show.
func (c chart) empty() bool {
	series, _ := c.Option["series"].([]option)
	return !slices.ContainsFunc(series, func(s option) bool {
		points, ok := s["data"].([]point)
		return len(points) > 0 || !ok
	})
}

func (v *view) seriesOf(curves []curve) []option {
	var all []option
	for _, c := range curves {
		t := slices.Index(v.targets, c.target)
		mark := targetMarks[t%len(targetMarks)]
		width, size := 2.0, 6.0
		if t == 0 && c.suffix == "" { // seen below another line that runs over it
			width, size = 3.5, 9
		}
		all = append(all, option{"type": "line", "name": c.target, "id": strings.TrimSpace(c.target + " " + c.suffix), "part": c.suffix,
			"data":      append([]point{}, c.points...), // null is no list
			"lineStyle": option{"width": width, "type": cmp.Or(c.dash, "solid")}, "symbol": mark.symbol, "symbolRotate": mark.rotate, "symbolSize": size})
	}
	return all
}

// xAxis is the axis of concurrency: logarithmic, with a tick at each value
// that was measured. With one value there is nothing to scale.
type xAxis struct {
	axis   option
	values []int
}

func newXAxis(rows []row) xAxis {
	var values []int
	for _, r := range rows {
		if !slices.Contains(values, r.concurrency) {
			values = append(values, r.concurrency)
		}
	}
	slices.Sort(values)
	x := xAxis{values: values}
	if len(values) == 1 {
		x.axis = option{"type": "category", "data": []string{fmt.Sprint(values[0])}}
	} else {
		x.axis = option{"type": "log", "min": values[0], "max": values[len(values)-1],
			"axisTick":  option{"customValues": values},
			"axisLabel": option{"customValues": values, "hideOverlap": true}}
	}
	x.axis["name"] = "clients"
	return x
}

func (x xAxis) at(concurrency int, y float64) [2]any {
	if len(x.values) == 1 {
		return [2]any{fmt.Sprint(concurrency), y}
	}
	return [2]any{concurrency, y}
}

// level is a horizontal line over the whole axis.
func (x xAxis) level(name string, y float64, text string) option {
	var points []option
	for _, v := range x.values {
		points = append(points, option{"value": x.at(v, y), "text": text})
	}
	s := option{"type": "line", "name": name, "id": name, "data": points, "symbol": "none", "z": 1,
		"color": levelColour, "lineStyle": option{"type": "dotted", "width": 2, "color": levelColour}}
	if len(x.values) == 1 { // a line needs two points
		s["markLine"] = option{"symbol": "none", "silent": true, "label": option{"show": false}, "data": []option{{"yAxis": y}}}
	}
	return s
}
