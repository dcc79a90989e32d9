package main

import (
	"fmt"
	"maps"

	"piecebench/records"
)

// at is a panel's place in a grid of 24 columns.
func at(x, y, w, h int) object { return object{"x": x, "y": y, "w": w, "h": h} }

func panel(kind, title, description string, place, defaults, options object, overrides list, targets ...object) object {
	for i, t := range targets {
		t["refId"], t["datasource"] = string(rune('A'+i)), source
	}
	if overrides == nil {
		overrides = list{}
	}
	return object{
		"type": kind, "title": title, "description": description, "gridPos": place, "options": options,
		"fieldConfig": object{"defaults": defaults, "overrides": overrides}, "targets": targets,
	}
}

// with returns an object with further fields.
func with(o, more object) object {
	o = maps.Clone(o)
	maps.Copy(o, more)
	return o
}

func row(title string, y int) object {
	return object{"type": "row", "title": title, "collapsed": false, "gridPos": at(0, y, 24, 1), "panels": list{}}
}

// folded is a row that is closed until a reader opens it.
func folded(title string, y int, panels ...object) object {
	return with(row(title, y), object{"collapsed": true, "panels": panels})
}

// over queries a range. The shortest step is step: Grafana's $__rate_interval is four
// of them.
func over(step, expr, legend string) object {
	return object{"expr": expr, "legendFormat": legend, "range": true, "interval": step}
}

// last queries the end of the time range.
func last(expr, legend string) object {
	return object{"expr": expr, "legendFormat": legend, "instant": true, "range": false}
}

func rows(expr string) object {
	return object{"expr": expr, "format": "table", "instant": true, "range": false}
}

func named(name string, properties ...object) object { return override("byName", name, properties) }
func matching(regex string, properties ...object) object {
	return override("byRegexp", regex, properties)
}

func override(matcher, options string, properties []object) object {
	return object{"matcher": object{"id": matcher, "options": options}, "properties": properties}
}

func property(id string, value any) object { return object{"id": id, "value": value} }

func colour(name string) object {
	return property("color", object{"mode": "fixed", "fixedColor": name})
}

func dashed() object { return property("custom.lineStyle", object{"fill": "dash", "dash": list{8, 6}}) }

// steps are thresholds: the colour below the first value, then value, colour, ...
func steps(below string, more ...any) object {
	all := list{object{"color": below, "value": nil}}
	for i := 0; i < len(more); i += 2 {
		all = append(all, object{"value": more[i], "color": more[i+1]})
	}
	return object{"mode": "absolute", "steps": all}
}

// Two equal curves are both seen: the gateway's is wide, and raw's, which is drawn
// after it, is thin.
var targets = list{
	matching("/^(raw|nginx)/", colour("blue"), property("custom.lineWidth", 2)),
	matching("/^(gateway|piece-gateway)/", colour("orange"), property("custom.lineWidth", 5)),
}

// failures are the colours of the outcomes that are failures: none is a colour of a
// target, and none is green.
var failures = map[records.Outcome]string{
	records.Connect: "dark-red", records.Reset: "red", records.Timeout: "purple", records.Stalled: "dark-purple",
	records.Status: "yellow", records.Range: "dark-yellow", records.Short: "semi-dark-red", records.Corrupt: "light-red",
}

// outcomes colours series that are named TARGET OUTCOME.
func outcomes() list {
	all := list{matching("/^raw ok$/", colour("blue")), matching("/^gateway ok$/", colour("orange")), matching("/ cut$/", colour("text"))}
	for _, o := range records.Outcomes {
		if c, failed := failures[o]; failed {
			all = append(all, matching(fmt.Sprintf("/ %s$/", o), colour(c)))
		}
	}
	return all
}

// limit is the line of a ceiling.
func limit(regex string) object {
	return matching(regex, colour("text"), dashed(), property("custom.fillOpacity", 0), property("custom.showPoints", "never"), property("custom.lineWidth", 1))
}

var curves = object{
	"legend":  object{"displayMode": "list", "placement": "bottom", "showLegend": true, "calcs": list{}},
	"tooltip": object{"mode": "multi", "sort": "desc"},
}

var logarithmic = object{"type": "log", "log": 10}

// lines are the defaults of curves over time.
func lines(unit string, custom object) object {
	return object{"unit": unit, "min": 0, "noValue": "no data in this time range", "custom": with(object{
		"lineWidth": 1, "fillOpacity": 0, "showPoints": "never", "spanNulls": false,
	}, custom)}
}

func series(title, description string, place, defaults object, overrides list, targets ...object) object {
	return panel("timeseries", title, description, place, defaults, curves, overrides, targets...)
}

// figures is a panel of numbers, each below its name: beside it, a name reads as
// that of the next number on a wide screen. A single number keeps its name.
func figures(title, description, none string, place object, overrides list, targets ...object) object {
	return panel("stat", title, description, place,
		object{"unit": "none", "noValue": none, "color": object{"mode": "thresholds"}, "thresholds": steps("text")},
		object{
			"reduceOptions": object{"calcs": list{"lastNotNull"}, "fields": "", "values": false}, "orientation": "vertical",
			"textMode": "value_and_name", "wideLayout": false, "colorMode": "value", "graphMode": "none", "justifyMode": "auto", "showPercentChange": false,
		}, overrides, targets...)
}

// against is a trend against the number of clients, one panel for each mode.
func against(title, description string, place, defaults object, overrides list, expr string) object {
	// The last point lies on the right edge. The axis on that side leaves room for its label.
	defaults["custom"] = with(object{"lineWidth": 2, "fillOpacity": 0, "showPoints": "always", "pointSize": 6, "spanNulls": true, "axisPlacement": "right"}, asObject(defaults["custom"]))
	clients := named("clients", property("unit", "none"), property("min", nil), property("max", nil),
		property("custom.scaleDistribution", logarithmic), property("custom.axisLabel", "clients"), property("custom.axisPlacement", "auto"))
	p := panel("trend", title+", $mode", description, place, defaults, with(curves, object{"xField": "clients"}), append(append(list{clients}, targets...), overrides...), rows(expr))
	p["repeat"], p["repeatDirection"] = "mode", "v"
	p["transformations"] = list{
		numbers("concurrency"),
		object{"id": "groupingToMatrix", "options": object{"rowField": "concurrency", "columnField": "series", "valueField": "Value", "emptyValue": "null"}},
		object{"id": "sortBy", "options": object{"fields": object{}, "sort": list{object{"field": `concurrency\series`}}}},
		object{"id": "organize", "options": object{"renameByName": object{`concurrency\series`: "clients"}, "excludeByName": object{}, "indexByName": object{}}},
	}
	return p
}

// byRun has bars of each run: its revision below them, the oldest run first. exprs are
// instant queries with the labels run and revision, by the name of the bar.
func byRun(title, description string, place, defaults object, overrides list, started string, names, exprs []string) object {
	rename, exclude := object{}, object{"Time": true, "run": true}
	var queries []object
	for i, expr := range exprs {
		rename["Value #"+string(rune('A'+i))] = names[i]
		queries = append(queries, rows(expr))
	}
	begin := "Value #" + string(rune('A'+len(exprs)))
	exclude[begin] = true
	defaults["custom"] = object{"lineWidth": 1, "fillOpacity": 80, "gradientMode": "none", "axisPlacement": "auto", "thresholdsStyle": object{"mode": "off"}}
	p := panel("barchart", title, description, place, defaults, with(curves, object{
		"xField": "revision", "orientation": "vertical", "xTickLabelRotation": -45, "xTickLabelMaxLength": 16, "xTickLabelSpacing": 0,
		"showValue": "auto", "stacking": "none", "groupWidth": 0.7, "barWidth": 0.9, "barRadius": 0, "fullHighlight": false,
	}), overrides, append(queries, rows(started))...)
	p["transformations"] = list{
		object{"id": "merge", "options": object{}},
		object{"id": "sortBy", "options": object{"fields": object{}, "sort": list{object{"field": begin}}}},
		object{"id": "organize", "options": object{"excludeByName": exclude, "indexByName": object{}, "renameByName": rename}},
	}
	return p
}

func asObject(v any) object { o, _ := v.(object); return o }

func numbers(field string) object {
	return object{"id": "convertFieldType", "options": object{"fields": object{}, "conversions": list{object{"targetField": field, "destinationType": "number"}}}}
}

// column is a column of a table: of a query, or else a label of the queries' series.
type column struct {
	name  string   // as it is shown
	width int      // in pixels
	expr  string   // or
	label string   // of the series
	show  []object // further properties
}

// table shows its columns in their order. A cell without a value says "-". Labels that
// are no column are in hidden.
func table(title, description string, place object, sortBy string, hidden []string, columns []column) object {
	exclude, index, rename := object{"Time": true}, object{}, object{}
	for _, h := range hidden {
		exclude[h] = true
	}
	var overrides list
	var queries []object
	for i, c := range columns {
		field := c.label
		if field == "" {
			field = "Value #" + string(rune('A'+len(queries)))
			queries = append(queries, rows(c.expr))
		} else if c.expr != "" { // only its label is shown
			exclude["Value #"+string(rune('A'+len(queries)))] = true
			queries = append(queries, rows(c.expr))
		}
		index[field], rename[field] = i, c.name
		overrides = append(overrides, named(c.name, append([]object{property("custom.width", c.width)}, c.show...)...))
	}
	p := panel("table", title, description, place,
		object{"unit": "none", "noValue": "-", "custom": object{"align": "auto", "filterable": true, "cellOptions": object{"type": "auto"}}},
		object{"showHeader": true, "cellHeight": "sm", "sortBy": list{object{"displayName": sortBy, "desc": true}}}, overrides, queries...)
	p["transformations"] = list{
		object{"id": "merge", "options": object{}}, numbers("concurrency"),
		object{"id": "organize", "options": object{"excludeByName": exclude, "indexByName": index, "renameByName": rename}},
	}
	return p
}

func unit(name string) object { return property("unit", name) }

func decimals(n int) object { return property("decimals", n) }

// coloured colours the text of a table's column.
func coloured(thresholds object) []object {
	return []object{property("custom.cellOptions", object{"type": "color-text"}), property("thresholds", thresholds)}
}

func percent(n int, thresholds object) []object {
	return append([]object{unit("percentunit"), decimals(n)}, coloured(thresholds)...)
}

var success = steps("red", 0.99, "orange", 1, "green")
