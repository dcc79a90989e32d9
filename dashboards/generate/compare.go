package main

import "fmt"

// compare is the dashboard that answers the project's question: what the gateway costs
// against plain files.
func compare() object {
	const ofRun = `run="$run",link=~"$link",mode=~"$mode",`
	ratios := ratio(goodput, ofRun)
	worst := func(end string) string {
		return by("min", "target", interval(end, ofRun)+" and on (run, "+key+") bottomk by (target) (1, "+ratios+")")
	}
	median := func(end string) string {
		return by("quantile", "target", "0.5, "+interval(end, ofRun)) + " and on (target) (" +
			by("count", "target", interval(end, ofRun)) + " == " + by("count", "target", ratios) + ")"
	}
	each := func(m string) string { return cell("goodput_bits_per_second", m) }
	repeated := each(ofRun+`target!="raw"`) + " / on (link, mode, concurrency, repetition) group_left () " + each(ofRun+`target="raw"`)
	requests := func(outcome string) string { return "sum(" + cell("requests", ofCells+outcome) + ") or vector(0)" }
	// k6's series end with their cell: "and" them, and nothing stands after it.
	live := func(metric string) string { return metric + "{" + ofCells + "}" }
	waiting := func(q, name string) object {
		return over("1s", "histogram_quantile("+q+", "+by("sum", "target", `rate(k6_http_req_waiting_seconds{`+ofCells+`,expected_response="true"}[$__rate_interval])`)+")", "{{target}} "+name)
	}
	received := by("sum", "%s", "deriv("+live("k6_data_received_total")+"[$__rate_interval]) and "+live("k6_data_received_total"))

	heat := panel("heatmap", "Time to first byte, $target", "Requests that succeeded, by TTFB. Cut requests, which are the slowest, are missing. Each target has the same axis, from 0.5 ms to 20 s. From native histograms, whose buckets are at most 9 % wide.",
		at(0, 39, 24, 9), object{"unit": "s", "noValue": "no request has ended yet", "custom": object{"scaleDistribution": object{"type": "linear"}, "hideFrom": object{"legend": false, "tooltip": false, "viz": false}}},
		object{
			"calculate": false, "cellGap": 0, "cellValues": object{"unit": "reqps"},
			"color":     object{"mode": "scheme", "scheme": "Oranges", "scale": "exponential", "exponent": 0.5, "steps": 64, "reverse": false, "fill": "dark-orange"},
			"exemplars": object{"color": "rgba(255,0,255,0.7)"}, "filterValues": object{"le": 1e-9}, "legend": object{"show": true},
			"rowsFrame": object{"layout": "auto"}, "showValue": "never", "tooltip": object{"mode": "single", "yHistogram": false, "showColorScale": true},
			"yAxis": object{"axisPlacement": "left", "reverse": false, "unit": "s", "min": 0.0005, "max": 20},
		}, nil,
		with(over("1s", `sum(rate(k6_http_req_waiting_seconds{`+ofCells+`,expected_response="true"}[$__rate_interval]))`, ""), object{"format": "heatmap"}))
	heat["repeat"], heat["repeatDirection"], heat["maxPerRow"] = "target", "h", 4

	finished := row("Finished cells, $link", 48)
	finished["repeat"] = "link"
	share := func(outcome, name string) string {
		return inColumn(by("sum", "target, concurrency", cell("requests", ofCells+outcome))+" / "+by("sum", "target, concurrency", cell("requests", ofCells)), name)
	}
	mean := func(metric, matchers string) string {
		return by("avg", "target, concurrency", cell(metric, ofCells+matchers))
	}
	quantile := func(q, name string) string {
		of := `,quantile="` + q + `"`
		return inColumn(mean("ttfb_seconds", of), "$1 "+name) + "\nor\n" +
			inColumn(mean("ttfb_seconds", of)+" and on (target, concurrency) "+cell("ttfb_seconds", ofCells+of+`,bound="lower"`), "$1 "+name+" ≥")
	}
	ratioColours := steps("red", 0.9, "orange", 0.97, "green")

	return dashboard("piecebench-compare",
		"The piece gateway against nginx, which serves the same bytes as plain files, over an emulated link: live during a run, and from its finished cells afterwards.",
		"now-30m", "5s", true,
		append(list{ofRuns("run", "Run", "Runs in the time range, the newest first.", "", "")}, several("k6_data_received_total", "link", "mode", "target")...),
		list{object{
			"name": "Cells", "enable": false, "hide": false, "iconColor": "light-blue", "datasource": source, "useValueForTime": true,
			"target":      object{"refId": "Anno", "expr": "1000 * " + cell("window_start_timestamp_seconds", ofCells), "interval": "10s"},
			"titleFormat": "Window of {{target}}, {{mode}}, {{concurrency}} clients", "textFormat": "{{link}}, repetition {{repetition}}", "tagKeys": "target,link,mode",
		}},
		[]object{
			figures("Gateway / raw", "Goodput as a share of raw's. A row is a link, a mode and a number of clients; its figure is the mean of the repetitions. Only rows that both targets have finished count. From and to, with three repetitions or more: of the worst row, its 99 % interval; of the median, the medians of both ends over all rows. If the link limits a row, its share is near 100 % whatever the gateway costs: see \"limited by\" and the CPU in the table of cells.",
				"no row yet", at(0, 0, 14, 6),
				list{matching("/(median|worst|from|to)$/", unit("percentunit"), decimals(1), property("thresholds", ratioColours))},
				last(by("quantile", "target", "0.5, "+ratios), "{{target}}, median"),
				last(median("low"), "{{target}}, median from"), last(median("high"), "{{target}}, median to"),
				last(by("min", "target", ratios), "{{target}}, worst"),
				last(worst("low"), "{{target}}, worst from"), last(worst("high"), "{{target}}, worst to"),
				last(by("count", "target", ratios), "{{target}}, rows")),
			figures("Now", "The cell that runs, the number of cells in the sweep, and the time left. Empty between two cells, while a link is calibrated, and after the run.",
				"no cell runs", at(14, 0, 10, 6), list{named("left", unit("s"), decimals(0))},
				last(`0 * max by (target, link, mode, concurrency) (k6_vus{run="$run"}) + on () group_left () (1 + (count(last_over_time(piecebench_cell_goodput_bits_per_second{run="$run"}[1d])) or vector(0)))`,
					"cell: {{target}}, {{mode}}, {{concurrency}} clients, {{link}}"),
				last(`max(last_over_time(piecebench_run_planned_cells{run="$run"}[1d])) and on () k6_vus{run="$run"}`, "of"),
				last(`clamp_min(max(last_over_time(piecebench_run_expected_end_timestamp_seconds{run="$run"}[1d])) - time(), 0) and on () k6_vus{run="$run"}`, "left")),
			table("Gateway / raw by row", "Each row is a link, a mode and a number of clients. Goodput: the mean of the repetitions as a share of raw's, and the lowest and highest ratio of a single repetition. 99 %: the interval of the ratio, with three repetitions or more. TTFB p95: above 100 % the target is slower; missing where cut requests leave only a lower bound.",
				at(0, 6, 24, 8), "goodput", []string{"run"}, []column{
					{name: "link", width: 140, label: "link"}, {name: "mode", width: 110, label: "mode"}, {name: "clients", width: 90, label: "concurrency"}, {name: "target", width: 120, label: "target"},
					{name: "goodput", width: 130, expr: ratios, show: percent(1, ratioColours)},
					{name: "lowest", width: 110, expr: by("min", "run, "+key, repeated), show: percent(1, steps("text"))},
					{name: "highest", width: 110, expr: by("max", "run, "+key, repeated), show: percent(1, steps("text"))},
					{name: "99 % from", width: 100, expr: interval("low", ofRun), show: percent(1, steps("text"))},
					{name: "99 % to", width: 100, expr: interval("high", ofRun), show: percent(1, steps("text"))},
					{name: "TTFB p95", width: 130, expr: ratio(exactTTFB, ofRun), show: percent(0, steps("green", 1.1, "orange", 1.5, "red"))},
				}),
			figures("Finished cells", "Sums over the finished cells of this run in the time range. Cut requests were still running when their window closed: they are neither successes nor failures. The success rate, ok / (ok + failed), is the lowest of any cell.",
				"none yet", at(0, 14, 24, 4), list{
					named("failed", property("thresholds", steps("text", 1, "red"))),
					named("lowest success rate", unit("percentunit"), decimals(1), property("thresholds", success)),
				},
				last("count("+cell("goodput_bits_per_second", ofCells)+") or vector(0)", "cells"),
				last(requests(`,outcome="ok"`), "ok"), last(requests(`,outcome!~"ok|cut"`), "failed"), last(requests(`,outcome="cut"`), "cut"),
				last("min("+cell("success_ratio", ofCells)+")", "lowest success rate")),
			row("While cells run", 18),
			panel("state-timeline", "Cells", "The cell that runs: a line for each target and mode, and the number of clients in it. A gap is a calibration or the preparation of a cell.",
				at(0, 19, 24, 6), object{"unit": "none", "noValue": "no cell ran in this time range", "color": object{"mode": "fixed"}, "custom": object{"lineWidth": 0, "fillOpacity": 70, "insertNulls": false, "spanNulls": false}},
				with(curves, object{"mergeValues": true, "showValue": "auto", "alignValue": "center", "rowHeight": 0.9, "legend": object{"displayMode": "list", "placement": "bottom", "showLegend": false}, "tooltip": object{"mode": "single", "sort": "none"}}),
				list{matching("/^raw/", colour("blue")), matching("/^gateway/", colour("orange"))},
				over("1s", by("max", "target, mode", live("k6_vus_max")), "{{target}} {{mode}}")),
			series("Received, and the link's ceiling", "What k6's sockets received. This includes HTTP heads, TLS, warm-up and failed requests, which goodput does not. The dashed line is the link's measured ceiling. The rate is the slope of a regression over 8 s. Over a shorter time it was up to 25 % above the ceiling, because the times of k6's pushes are not exact.",
				at(0, 25, 24, 7), lines("bps", object{"fillOpacity": 10}), append(targets[:len(targets):len(targets)], limit("/^ceiling/")),
				over("2s", "8 * "+fmt.Sprintf(received, "target"), "{{target}}"),
				over("2s", `max by (link) (last_over_time(piecebench_link_ceiling_bits_per_second{run="$run",link=~"$link"}[$__range])) and on (link) `+fmt.Sprintf(received, "link"), "ceiling {{link}}")),
			series("Time to first byte", "Requests that succeeded, at the time they ended. Slow and cut requests are missing here, so an overloaded server looks better than it is. The finished cells below include cut requests; use their figures. From native histograms. Connecting and TLS are not included.",
				at(0, 32, 12, 7), with(lines("s", object{"scaleDistribution": logarithmic}), object{"min": nil}), append(targets[:len(targets):len(targets)], matching("/ p95$/", dashed()), matching("/ p99$/", property("custom.lineStyle", object{"fill": "dot", "dash": list{2, 6}}))),
				waiting("0.5", "p50"), waiting("0.95", "p95"), waiting("0.99", "p99")),
			series("Requests by outcome", "Requests that ended, per second. Cut requests are missing: the finished cells count them. Every outcome except ok is a failure.",
				at(12, 32, 12, 7), lines("reqps", object{"lineWidth": 0, "fillOpacity": 70, "drawStyle": "bars", "stacking": object{"mode": "normal", "group": "A"}}), outcomes(),
				over("1s", by("sum", "target, outcome", "rate("+live("k6_http_reqs_total")+"[$__rate_interval])"), "{{target}} {{outcome}}")),
			heat,
			finished,
			against("Goodput", "Payload bytes that arrived in the measured window / window, of requests that succeeded or were cut without a fault, against concurrent clients: means of the repetitions. The dashed line is the link's ceiling, measured before its cells.",
				at(0, 49, 8, 9), object{"unit": "bps", "min": 0}, list{limit("/^ceiling/")},
				orNothing(inColumn(mean("goodput_bits_per_second", ""), "$1")+"\nor\n"+
					`label_replace(max by (concurrency) (0 * `+cell("goodput_bits_per_second", ofCells)+` + on (run, link) group_left () last_over_time(piecebench_link_ceiling_bits_per_second{run="$run",link=~"$link"}[$__range])), "series", "ceiling", "", "")`)),
			against("Time to first byte", "Kaplan-Meier quantiles of the requests that started in the window, against concurrent clients: means of the repetitions. Cut requests count as longer than they ran. A large dot (≥) is a lower bound: too many requests of a repetition were cut. Connecting and TLS are not included.",
				at(8, 49, 8, 9), object{"unit": "s", "custom": object{"scaleDistribution": logarithmic}},
				list{matching("/ p95$/", dashed()), matching("/ ≥$/", property("custom.drawStyle", "points"), property("custom.pointSize", 12))},
				orNothing(quantile("0.5", "p50")+"\nor\n"+quantile("0.95", "p95"))),
			against("Failed and cut", "Shares of all requests of the window: those that failed, and those that were still running when it closed. Many cut requests are normal if one request takes longer than the window.",
				at(16, 49, 8, 9), object{"unit": "percentunit", "min": 0, "max": 1}, list{matching("/ cut$/", dashed())},
				orNothing(share(`,outcome!~"ok|cut"`, "$1 failed")+"\nor\n"+share(`,outcome="cut"`, "$1 cut"))),
			row("All finished cells", 58),
			cells(repeated),
			jobs(71),
		})
}

// jobs is the row of the workloads that have jobs. Other runs have no such series.
func jobs(y int) object {
	of := func(metric, more string) string { return "rate(" + metric + "{" + ofCells + more + "}[1m])" }
	took := func(q, name string) object {
		return over("1s", "histogram_quantile("+q+", "+by("sum", "target", of("k6_job_duration_seconds", `,outcome="ok"`))+")", "{{target}} "+name)
	}
	stage := by("sum", "target, stage", of("k6_stage_duration_seconds", `,outcome="ok"`))
	return folded("Jobs (only workloads that have them)", y,
		series("Jobs by outcome", "Jobs that ended, per second, over the last minute. Cut jobs are missing: reports count them. Every outcome except ok is a failure.",
			at(0, y+1, 8, 9), lines("ops", object{"fillOpacity": 10}), outcomes(),
			over("1s", by("sum", "target, outcome", of("k6_jobs_total", "")), "{{target}} {{outcome}}")),
		series("Time of a job", "Quantiles of the jobs that succeeded in the last minute, by when they ended. Slow and cut jobs are missing here, so an overloaded server looks better than it is: use the figures of reports, which include them. From native histograms.",
			at(8, y+1, 8, 9), with(lines("s", object{"scaleDistribution": logarithmic}), object{"min": nil}), append(targets[:len(targets):len(targets)], matching("/ p90$/", dashed()), matching("/ p99$/", property("custom.lineStyle", object{"fill": "dot", "dash": list{2, 6}}))),
			took("0.5", "p50"), took("0.9", "p90"), took("0.99", "p99")),
		series("Time in each stage", "Mean time in each stage of the jobs that succeeded in the last minute, stacked. The top is the time of a whole job if its stages follow each other.",
			at(16, y+1, 8, 9), lines("s", object{"fillOpacity": 40, "stacking": object{"mode": "normal", "group": "A"}}), nil,
			over("1s", "histogram_sum("+stage+") / histogram_count("+stage+")", "{{target}} {{stage}}")))
}

// cells is the table of a run's cells. The columns that decide come first.
func cells(ratios string) object {
	figure := func(metric, matchers string) string {
		return by("sum", key+", repetition", cell(metric, ofCells+matchers))
	}
	return table("Cells of this run", "One row per cell, as in cells.csv. Ratio: goodput as a share of raw's in the same repetition. Where cut requests make a quantile unknowable, p50 is missing and p95 is a lower bound (marked >). On the wire: what the servers sent, with headers and retransmissions. Overhead: by how much this exceeds the payload delivered. CPU is seconds per GB (10^9 bytes); server memory is that of its processes, without the page cache. \"Limited by\" is empty where the figures do not show it.",
		at(0, 59, 24, 12), "window from", nil, []column{
			{name: "link", width: 120, label: "link"}, {name: "mode", width: 80, label: "mode"}, {name: "clients", width: 80, label: "concurrency"},
			{name: "target", width: 90, label: "target"}, {name: "rep.", width: 60, label: "repetition"},
			{name: "goodput", width: 120, expr: figure("goodput_bits_per_second", ""), show: []object{unit("bps")}},
			{name: "ratio", width: 80, expr: by("sum", key+", repetition", ratios), show: []object{unit("percentunit"), decimals(1)}},
			{name: "p95 is", width: 60, label: "bound", show: []object{property("custom.align", "right"),
				property("mappings", list{object{"type": "value", "options": object{"exact": object{"text": "", "index": 0}, "lower": object{"text": ">", "index": 1}}}})}},
			{name: "TTFB p95", width: 100, expr: by("sum", key+", repetition, bound", cell("ttfb_seconds", ofCells+`,quantile="0.95"`)), show: []object{unit("s")}},
			{name: "limited by", width: 100, label: "by", expr: by("max", key+", repetition, by", cell("limited_by", ofCells)),
				show: []object{property("mappings", list{object{"type": "value", "options": object{"unknown": object{"text": "", "index": 0}}}})}},
			{name: "of the ceiling", width: 110, expr: figure("link_share_ratio", ""), show: []object{unit("percentunit"), decimals(1), property("min", 0), property("max", 1),
				property("custom.cellOptions", object{"type": "gauge", "mode": "basic", "valueDisplayMode": "text"}), colour("text")}},
			{name: "success rate", width: 110, expr: figure("success_ratio", ""), show: percent(1, success)},
			{name: "ok", width: 80, expr: figure("requests", `,outcome="ok"`)},
			{name: "failed", width: 80, expr: figure("requests", `,outcome!~"ok|cut"`), show: coloured(steps("text", 1, "red"))},
			{name: "cut", width: 80, expr: figure("requests", `,outcome="cut"`)},
			{name: "TTFB p50", width: 100, expr: figure("ttfb_seconds", `,quantile="0.5",bound="exact"`), show: []object{unit("s")}},
			{name: "on the wire", width: 110, expr: figure("wire_bits_per_second", ""), show: []object{unit("bps")}},
			{name: "overhead", width: 90, expr: figure("wire_overhead_ratio", ""), show: []object{unit("percentunit"), decimals(1)}},
			{name: "server CPU s/GB", width: 130, expr: figure("server_cpu_seconds_per_gigabyte", ""), show: []object{decimals(2)}},
			{name: "k6 CPU s/GB", width: 110, expr: figure("generator_cpu_seconds_per_gigabyte", ""), show: []object{decimals(2)}},
			{name: "server memory", width: 120, expr: figure("server_memory_bytes", ""), show: []object{unit("decbytes")}},
			{name: "window from", width: 180, expr: "1000 * " + by("min", key+", repetition", cell("window_start_timestamp_seconds", ofCells)), show: []object{unit("dateTimeAsIso")}},
		})
}
