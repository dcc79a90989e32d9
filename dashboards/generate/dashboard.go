package main

import "strings"

type (
	object map[string]any
	list   []any
)

// source is the variable that selects the Prometheus.
var source = object{"type": "prometheus", "uid": "${datasource}"}

// titles are the dashboards', by their uids, in the order of their links.
var titles = [][2]string{
	{"piecebench-compare", "Raw against gateway"},
	{"piecebench-lab", "The lab"},
	{"piecebench-runs", "Runs"},
}

// dashboard returns a dashboard. Its panels get their ids and their data source here.
// keep says whether links to the others keep the variables and the time.
func dashboard(uid, description, from, refresh string, keep bool, variables, annotations list, panels []object) object {
	d := object{
		"uid": uid, "description": description, "tags": list{"piecebench"},
		"schemaVersion": 41, "version": 1, "editable": true, "graphTooltip": 1, "timezone": "browser", "fiscalYearStartMonth": 0,
		"refresh": refresh, "time": object{"from": from, "to": "now"},
		"timepicker": object{"refresh_intervals": list{"2s", "5s", "10s", "30s", "1m", "5m"}},
		"templating": object{"list": append(list{object{
			"name": "datasource", "label": "Data source", "type": "datasource", "description": "The Prometheus of the lab.",
			"query": "prometheus", "refresh": 1, "multi": false, "includeAll": false,
		}}, variables...)},
		"annotations": object{"list": append(list{object{
			"builtIn": 1, "datasource": object{"type": "grafana", "uid": "-- Grafana --"}, "enable": true, "hide": true,
			"iconColor": "rgba(0, 211, 255, 1)", "name": "Annotations & Alerts", "type": "dashboard",
		}}, annotations...)},
	}
	var links list
	for _, t := range titles {
		if t[0] == uid {
			d["title"] = t[1]
			continue
		}
		links = append(links, object{
			"type": "link", "title": t[1], "url": "/d/" + t[0], "icon": "dashboard", "tooltip": "", "tags": list{}, "asDropdown": false,
			"includeVars": keep, "keepTime": keep && t[0] != "piecebench-runs", "targetBlank": false,
		})
	}
	d["links"] = links
	id := 0
	number(panels, &id)
	d["panels"] = panels
	return d
}

// number gives panels, and those of collapsed rows, their ids and their data source.
func number(panels []object, id *int) {
	for _, p := range panels {
		*id++
		p["id"] = *id
		if p["type"] != "row" {
			p["datasource"] = source
		} else if inside, ok := p["panels"].([]object); ok {
			number(inside, id)
		}
	}
}

// ofRuns is a variable that offers runs: the newest first by the time of their start,
// not by their names. where, if any, has the runs that are offered; the run last is
// offered after all others.
func ofRuns(name, label, description, where, last string) object {
	started := func(matcher string) string {
		return "(max by (run) (last_over_time(piecebench_run_started_timestamp_seconds{" + matcher + "}[$__range]))" +
			// Runs of earlier versions have no such series.
			" or min by (run) (last_over_time(piecebench_cell_window_start_timestamp_seconds{" + matcher + "}[$__range])))"
	}
	expr := started(`run!="` + last + `"`)
	if last != "" {
		expr = "(" + expr + " or 0 * " + started(`run="`+last+`"`) + ")"
	}
	if where != "" {
		expr += " and on (run) " + where
	}
	return object{
		"name": name, "label": label, "description": description, "type": "query", "datasource": source,
		"query": object{"qryType": 3, "query": "query_result(sort_desc(" + expr + "))", "refId": "Variables"},
		"regex": `/run="([^"]+)"/`, "refresh": 2, "sort": 0, "multi": false, "includeAll": false,
	}
}

// several is a variable of several values of a label, that a run's series of a metric have.
func several(metric string, labels ...string) list {
	var all list
	for _, label := range labels {
		sort := 7 // as a person counts: 1MiB before 10MiB
		if label == "target" {
			sort = 2
		}
		all = append(all, object{
			"name": label, "label": strings.ToUpper(label[:1]) + label[1:], "type": "query", "datasource": source,
			"query":   object{"qryType": 1, "query": "label_values(" + metric + `{run="$run"}, ` + label + ")", "refId": "Variables"},
			"refresh": 2, "sort": sort, "multi": true, "includeAll": true,
			"current": object{"text": list{"All"}, "value": list{"$__all"}},
		})
	}
	return all
}
