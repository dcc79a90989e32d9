package report

import (
	"fmt"
	"slices"
	"strings"

	"piecebench/bench/result"
)

// option is a part of an ECharts option tree (echarts.apache.org/en/option.html).
// Every text that a chart shows is made here; the page's script only places it.
type option = map[string]any

// chart is one plot of the page.
type chart struct {
	Title  string `json:"-"`
	Alt    string `json:"-"` // for those who cannot see it
	Option option `json:"option"`
	// Log marks a value axis that the reader may switch to a logarithmic one.
	Log bool `json:"log"`
}

// panel is a mode of a link: goodput and TTFB against concurrency.
type panel struct {
	Mode   string
	Charts []int // indices into the page's list of charts
}

// point is one value of a series, with the text of its tooltip.
type point struct {
	Value      [2]any  `json:"value"`
	Text       string  `json:"text"`
	Symbol     string  `json:"symbol,omitempty"`
	SymbolSize float64 `json:"symbolSize,omitempty"`
}

// curve is one line of a chart. Curves of one name share a colour and a
// legend entry.
type curve struct {
	target, suffix string
	dash           bool
	points         []point
}

// boundSymbol points up: the true value is above. Other points are circles.
const boundSymbol = "triangle"

// panels makes the charts of a link, one panel a mode, and adds them to all.
func (v *view) panels(l linkView, all *[]chart) []panel {
	var panels []panel
	for first := 0; first < len(l.rows); {
		mode := l.rows[first].mode
		last := first
		for last < len(l.rows) && l.rows[last].mode == mode {
			last++
		}
		rows := l.rows[first:last]
		p := panel{Mode: mode}
		for _, c := range []chart{v.goodputChart(l, mode, rows), v.ttfbChart(l, mode, rows)} {
			p.Charts = append(p.Charts, len(*all))
			*all = append(*all, c)
		}
		panels = append(panels, p)
		first = last
	}
	return panels
}

func (v *view) goodputChart(l linkView, mode string, rows []row) chart {
	x := newXAxis(rows)
	greatest, ceiling := 0.0, 0.0
	for _, r := range rows {
		for _, f := range r.figures {
			if f != nil {
				greatest, ceiling = max(greatest, f.goodput), max(ceiling, f.ceiling)
			}
		}
	}
	unit, scale := "Mbit/s", 1e6
	if max(greatest, ceiling) >= 2e9 {
		unit, scale = "Gbit/s", 1e9
	}
	var curves []curve
	for t, name := range v.targets {
		c := curve{target: name}
		for _, r := range rows {
			f := r.figures[t]
			if f == nil {
				continue
			}
			text := megabits(f.goodput) + " Mbit/s"
			if share, ok := f.share(); ok {
				text += ", " + wholePercent(share) + " of the ceiling"
			}
			c.points = append(c.points, point{Value: x.at(r.concurrency, f.goodput/scale), Text: text})
		}
		curves = append(curves, c)
	}
	series := seriesOf(curves)
	if ceiling > 0 {
		series = append(series, x.level("ceiling", ceiling/scale, megabits(ceiling)+" Mbit/s"))
	}
	return chart{
		Title:  "Goodput, " + unit,
		Alt:    fmt.Sprintf("Goodput against concurrency, %s over %s; the table below has the figures", mode, l.name),
		Option: option{"xAxis": x.axis, "yAxis": option{"type": "value", "min": 0}, "series": series},
		Log:    true,
	}
}

func (v *view) ttfbChart(l linkView, mode string, rows []row) chart {
	x := newXAxis(rows)
	var curves []curve
	for t, name := range v.targets {
		p50, p95 := curve{target: name, suffix: " p50"}, curve{target: name, suffix: " p95", dash: true}
		for _, r := range rows {
			if f := r.figures[t]; f != nil {
				p50.add(x, r.concurrency, f.ttfb.P50, f.warmupQuantiles)
				p95.add(x, r.concurrency, f.ttfb.P95, f.warmupQuantiles)
			}
		}
		curves = append(curves, p50, p95)
	}
	return chart{
		Title:  "TTFB, ms: p50 solid, p95 dashed",
		Alt:    fmt.Sprintf("Time to first byte against concurrency, %s over %s; the table below has the figures", mode, l.name),
		Option: option{"xAxis": x.axis, "yAxis": option{"type": "log"}, "series": seriesOf(curves)},
	}
}

func (c *curve) add(x xAxis, concurrency int, q *result.Quantile, warmup bool) {
	if q == nil || q.Ms <= 0 { // a logarithmic axis has no zero
		return
	}
	p := point{Value: x.at(concurrency, q.Ms), Text: strings.TrimSpace(c.suffix + " " + quantile(q, warmup))}
	if q.Bound {
		p.Symbol, p.SymbolSize = boundSymbol, 11
	}
	c.points = append(c.points, p)
}

func seriesOf(curves []curve) []option {
	var all []option
	for _, c := range curves {
		line := option{"width": 2}
		if c.dash {
			line["type"] = "dashed"
		}
		all = append(all, option{"type": "line", "name": c.target, "id": c.target + c.suffix, "data": c.points,
			"lineStyle": line, "symbol": "circle", "symbolSize": 6, "label": option{"show": false}})
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
	points := []point{{Value: x.at(x.values[0], y), Text: text}}
	for _, v := range x.values[1:] {
		points = append(points, point{Value: x.at(v, y), Text: text})
	}
	s := option{"type": "line", "name": name, "id": name, "data": points, "symbol": "none", "z": 1,
		"color": "#8a8f98", "lineStyle": option{"type": "dotted", "width": 1.5, "color": "#8a8f98"}}
	if len(x.values) == 1 { // a line needs two points
		s["markLine"] = option{"symbol": "none", "silent": true, "label": option{"show": false}, "data": []option{{"yAxis": y}}}
	}
	return s
}
