package main

// runs is the dashboard of all runs, and of one against a baseline.
func runs() object {
	const measured = "last_over_time(piecebench_cell_goodput_bits_per_second[$__range])"
	of := func(run, more string) string {
		return `run="` + run + `",link=~"$link",mode=~"$mode",target=~"$target"` + more
	}
	mean := func(metric, run, labels, more string) string {
		return by("avg", labels, cell(metric, of(run, more)))
	}
	ttfb := func(run string) string { return exact(key, of(run, "")) }
	change := func(of func(run string) string) string { return of("$run") + " / " + of("$baseline") + " - 1" }
	speed := func(run string) string { return mean("goodput_bits_per_second", run, key, "") }
	curve := func(metric, more string) string {
		return orNothing(inColumn(mean(metric, "$run", "target, concurrency", more), "$1") + "\nor\n" + inColumn(mean(metric, "$baseline", "target, concurrency", more), "$1 baseline"))
	}
	baseline := list{matching("/ baseline$/", dashed())}
	ratios := ratio(goodput, "")
	info := "last_over_time(piecebench_run_info[$__range])"
	finished := row("Finished cells, $link", 18)
	finished["repeat"] = "link"
	ofRevision := func(expr string) string {
		return "(" + expr + ") * on (run) group_left (revision) max by (run, revision) (0 * " + info + " + 1)"
	}
	ratioColours := steps("red", 0.9, "orange", 0.97, "green")

	return dashboard("piecebench-runs", "The runs in the time range, and one run against another: the effect of a change to the gateway, the machine or a setting.", "now-7d", "", false,
		append(list{
			ofRuns("run", "Run", "Runs with a finished cell in the time range, the newest first.", measured, ""),
			ofRuns("baseline", "Baseline", "The run to compare with. The default is the newest other run.", measured, "$run"),
		}, several("piecebench_cell_goodput_bits_per_second", "link", "mode", "target")...), nil,
		[]object{
			table("Runs", "Every run with a finished cell in the time range, the newest first: a run that was refused has none. Gateway / raw is the goodput of every other target as a share of raw's: the median row and the worst. The name of a run links to its cells, at the time when they ran. Compare runs only if their settings are the same.",
				at(0, 0, 24, 10), "from", []string{"__name__"}, []column{
					{name: "run", width: 210, label: "run", show: []object{property("links", list{object{"title": "Cells of this run",
						"url": "/d/piecebench-compare?var-run=${__data.fields.run}&from=${__data.fields.from.numeric}&to=${__data.fields.to.numeric}&var-datasource=${datasource}"}})}},
					{name: "revision", width: 120, label: "revision"},
					{name: "median", width: 80, expr: by("quantile", "run", "0.5, "+ratios), show: percent(1, ratioColours)},
					{name: "worst", width: 80, expr: by("min", "run", ratios), show: percent(1, ratioColours)},
					{name: "settings", width: 400, label: "settings"},
					{name: "cells", width: 70, expr: by("count", "run", measured)},
					{name: "lowest success rate", width: 150, expr: by("min", "run", "last_over_time(piecebench_cell_success_ratio[$__range])"), show: percent(1, success)},
					{name: "from", width: 180, expr: "floor(1000 * " + by("min", "run", "last_over_time(piecebench_cell_window_start_timestamp_seconds[$__range])") + ")", show: []object{unit("dateTimeAsIso")}},
					{name: "to", width: 180, expr: "ceil(1000 * " + by("max", "run", "last_over_time(piecebench_cell_window_end_timestamp_seconds[$__range])") + ")", show: []object{unit("dateTimeAsIso")}},
					{name: "runtime", width: 90, label: "runtime"}, {name: "link backend", width: 110, label: "backend"}, {name: "congestion control", width: 150, label: "congestion"},
					{name: "CPUs", width: 70, label: "cpus"}, {name: "kernel", width: 160, label: "kernel"},
					{name: "version", width: 90, label: "piecebench", expr: "topk by (run) (1, " + info + ") and on (run) " + measured},
				}),
			byRun("Gateway / raw by run", "The trend over the runs of the time range, the oldest first, with their revisions: the goodput of every other target as a share of raw's, in the median row and in the worst. Compare runs only if their settings, in the table above, are the same.",
				at(0, 10, 24, 8), object{"unit": "percentunit", "decimals": 1, "min": 0, "noValue": "no run in this time range"},
				list{named("median", colour("orange")), named("worst", colour("dark-orange"))},
				"floor(1000 * "+by("min", "run", "last_over_time(piecebench_cell_window_start_timestamp_seconds[$__range])")+")",
				[]string{"median", "worst"}, []string{by("quantile", "run, revision", "0.5, "+ofRevision(ratios)), by("min", "run, revision", ofRevision(ratios))}),
			finished,
			against("Goodput", "Goodput of the run (solid) and of the baseline (dashed) against concurrent clients: means of the repetitions.",
				at(0, 19, 12, 9), object{"unit": "bps", "min": 0}, baseline, curve("goodput_bits_per_second", "")),
			against("Time to first byte p95", "Kaplan-Meier p95 of the run (solid) and of the baseline (dashed), means of the repetitions. Where cut requests leave only a lower bound, the bound is shown: see \"Raw against gateway\", which marks those.",
				at(12, 19, 12, 9), object{"unit": "s", "custom": object{"scaleDistribution": logarithmic}}, baseline, curve("ttfb_seconds", `,quantile="0.95"`)),
			row("All finished cells", 28),
			table("Run against baseline", "Means of the repetitions, and by how much the run differs from the baseline. No uncertainty is shown here, so a small change may be noise: make compare gives intervals. TTFB is missing where it is a lower bound in any repetition. Cells that only one of the two runs has show no change.",
				at(0, 29, 24, 12), "link", nil, []column{
					{name: "link", width: 120, label: "link"}, {name: "mode", width: 80, label: "mode"}, {name: "clients", width: 80, label: "concurrency"}, {name: "target", width: 90, label: "target"},
					{name: "goodput, change", width: 120, expr: change(speed), show: percent(1, steps("red", -0.05, "text", 0.05, "green"))},
					{name: "TTFB p95, change", width: 130, expr: change(ttfb), show: percent(1, steps("green", -0.05, "text", 0.05, "red"))},
					{name: "goodput", width: 110, expr: speed("$run"), show: []object{unit("bps")}}, {name: "goodput, baseline", width: 140, expr: speed("$baseline"), show: []object{unit("bps")}},
					{name: "TTFB p95", width: 90, expr: ttfb("$run"), show: []object{unit("s")}}, {name: "TTFB p95, baseline", width: 140, expr: ttfb("$baseline"), show: []object{unit("s")}},
					{name: "success rate", width: 110, expr: mean("success_ratio", "$run", key, ""), show: []object{unit("percentunit"), decimals(1)}},
					{name: "success rate, baseline", width: 160, expr: mean("success_ratio", "$baseline", key, ""), show: []object{unit("percentunit"), decimals(1)}},
				}),
		})
}
