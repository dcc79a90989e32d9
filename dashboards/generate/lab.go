package main

// now bounds a gauge's age. The lab's Prometheus is killed with its lab, so that
// the series of the lab before live on for 5 minutes.
func now(gauge string) string { return "last_over_time(" + gauge + "[$__rate_interval])" }

func rate(counter string) string { return "rate(" + counter + "[$__rate_interval])" }

// lab is the dashboard of the link, the servers and k6.
func lab() object {
	const ofK6 = `{run="$run",link=~"$link",mode=~"$mode"}`
	scraped := func(expr, legend string) object { return over("2s", expr, legend) } // as often as Prometheus does
	// Of a host and of a link there is one: a maximum, and not a sum, of what two labs say.
	link := "8 * max(" + rate("netem_sent_bytes_total") + ") / (max(" + now("netem_link_rate_bits") + ") > 0) or vector(0)"
	host := "max(" + rate("netem_host_cpu_busy_seconds_total") + ") / max(" + now("netem_host_cpus") + ")"
	running := " and on () k6_vus" + ofK6
	lateness := func(q string) string {
		return "histogram_quantile(" + q + ", " + by("sum", "le", rate("netem_line_lateness_seconds_bucket")) + ") or vector(0)"
	}
	reads := func(q string) string {
		return "histogram_quantile(" + q + ", " + by("sum", "le", rate("piece_gateway_store_read_seconds_bucket")) + ")"
	}
	up := list{object{"type": "value", "options": object{"0": object{"text": "down", "color": "red", "index": 0}, "1": object{"text": "up", "color": "green", "index": 1}}}}
	alive := figures("Servers", "Whether each server answers at the end of the time range: nginx its status page, the gateway and the link agent Prometheus. All are down while there is no lab.",
		"down", at(18, 0, 6, 4), list{matching("/./", property("mappings", up))},
		last("max("+now("nginx_up")+") or vector(0)", "nginx"), last(`max(`+now(`up{job="gateway"}`)+`) or vector(0)`, "gateway"), last(`max(`+now(`up{job="netem"}`)+`) or vector(0)`, "link agent"))
	bottlenecks := figures("Bottlenecks of finished cells", "Number of the run's finished cells by bottleneck. Host: all CPUs were busy. Unknown: no rule held. Methodology lists them all.",
		"no cell yet", at(18, 4, 6, 4), nil,
		last(by("count", "by", `last_over_time(piecebench_cell_limited_by`+ofK6+`[$__range])`), "{{by}}"))
	for _, p := range []object{alive, bottlenecks} {
		asObject(p["options"])["orientation"] = "auto"
	}
	limits := panel("bargauge", "What limits now", "How full the link is, and how busy all CPUs of the machine are that runs servers, link and clients. A cell counts as limited by the link from 95 % of its ceiling, by the host from 90 % of its CPUs. If neither is full, the bottleneck is latency, the server or k6. Empty unless a cell of this run runs at the end of the time range.",
		at(0, 0, 6, 8), object{"unit": "percentunit", "decimals": 0, "min": 0, "max": 1, "noValue": "no cell runs", "color": object{"mode": "thresholds"}, "thresholds": steps("green", 0.9, "orange", 0.95, "red")},
		object{
			"displayMode": "lcd", "orientation": "horizontal", "reduceOptions": object{"calcs": list{"lastNotNull"}, "fields": "", "values": false}, "showUnfilled": true,
			"valueMode": "color", "namePlacement": "auto", "sizing": "auto", "minVizHeight": 16, "minVizWidth": 8, "maxVizHeight": 80,
			"legend": object{"showLegend": false, "displayMode": "hidden", "placement": "bottom", "calcs": list{}},
		},
		list{named("host CPUs", property("thresholds", steps("green", 0.8, "orange", 0.9, "red")))},
		with(last("("+link+")"+running, "link"), object{"interval": "2s"}), with(last("("+host+")"+running, "host CPUs"), object{"interval": "2s"}))
	over90 := lines("percentunit", object{"fillOpacity": 10, "thresholdsStyle": object{"mode": "dashed"}})
	over90["max"], over90["thresholds"] = 1, steps("transparent", 0.9, "orange", 0.95, "red")
	late := lines("s", object{"thresholdsStyle": object{"mode": "dashed"}})
	late["thresholds"] = steps("transparent", 0.001, "red")
	// A colour by name: one that is missing does not change the others'.
	processes := append(targets[:len(targets):len(targets)], named("k6", colour("purple")))
	cpus := append(processes[:len(processes):len(processes)], named("link agent", colour("yellow")), named("host, all", colour("semi-dark-red"), property("custom.fillOpacity", 10)), limit("/^host's CPUs$/"))
	colours := func(pairs ...string) list {
		var all list
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, named(pairs[i], colour(pairs[i+1])))
		}
		return all
	}

	return dashboard("piecebench-lab", "The emulated link, the servers behind it and k6: whether the link works as set, and what limits a cell.", "now-30m", "5s", true,
		append(list{ofRuns("run", "Run", "Runs in the time range, the newest first.", "", "")}, several("k6_data_received_total", "link", "mode")...), nil,
		[]object{
			limits,
			series("What limited, over time", "The same shares over time. The link's is 0 while it has no cap. The dashed lines are the limits above which a finished cell counts as limited by the host (90 %) or the link (95 %).",
				at(6, 0, 12, 8), over90, colours("link", "green", "host CPUs", "semi-dark-red"), scraped(link, "link"), scraped(host, "host CPUs")),
			alive, bottlenecks,
			row("Link", 8),
			series("Rate on the wire", "What left the servers through the link, with headers and retransmissions; what k6 received of it, without them; and the cap of the link. Calibration is visible too: before the first cell of a link it is filled with 1, 8 and 128 streams.",
				at(0, 9, 12, 8), lines("bps", object{"fillOpacity": 10}), append(colours("sent", "green", "received", "purple"), limit("/^cap$/")),
				scraped("8 * max("+rate("netem_sent_bytes_total")+")", "sent"),
				scraped("8 * sum(deriv(k6_data_received_total"+ofK6+"[$__rate_interval]) and k6_data_received_total"+ofK6+")", "received"),
				scraped("max("+now("netem_link_rate_bits")+") > 0 or vector(0)", "cap")),
			series("Backlog", "Bytes waiting in the link's queue on the servers' side. With the kernel backend this includes the bytes that are delayed. If the queue is never empty, the link is the bottleneck.",
				at(12, 9, 12, 8), lines("decbytes", object{"fillOpacity": 10}), colours("queue", "green"), scraped("max("+now("netem_backlog_bytes")+")", "queue")),
			series("Round trip", "Idle: as measured when the link was calibrated. With the queue: the delay plus the time that the queue takes to drain, which is an estimate of the round trip now. It is 0 without a link.",
				at(0, 17, 8, 8), lines("s", nil), append(colours("with the queue", "green"), limit("/^idle/")),
				scraped(`max by (link) (last_over_time(piecebench_link_rtt_seconds{run="$run",link=~"$link"}[$__range]))`, "idle {{link}}"),
				scraped("(max("+now(`netem_link_delay_seconds{backend="userspace"}`)+") + 8 * max("+now("netem_backlog_bytes")+") / (max("+now("netem_link_rate_bits")+") > 0)) or clamp_min(8 * max("+now("netem_backlog_bytes")+") / (max("+now(`netem_link_rate_bits{backend="kernel"}`)+") > 0), scalar(max("+now("netem_link_delay_seconds")+"))) or vector(0)", "with the queue")),
			series("Packets lost and sent again", "Packets from the servers that found the queue full; those that the link lost at random (with the kernel backend the first include them); TCP segments that the servers sent again; and packets of the return path that the user-space delay line had no memory for. A few drops at the start of a flow are normal, because TCP searches for the rate. Steady drops cost throughput.",
				at(8, 17, 8, 8), lines("pps", object{"fillOpacity": 10}), colours("queue full", "red", "at random", "yellow", "sent again", "blue", "delay line full", "purple"),
				scraped("max("+rate("netem_dropped_packets_total")+")", "queue full"), scraped("max("+rate("netem_lost_packets_total")+")", "at random"), scraped("max("+rate("netem_tcp_retransmitted_segments_total")+")", "sent again"), scraped("max("+rate("netem_line_dropped_packets_total")+") or vector(0)", "delay line full")),
			series("Lateness of the delay line", "User-space backend: how late packets left the delay line. Above 1 ms the emulated delay is no longer the requested one. The kernel backend has no such line: 0.",
				at(16, 17, 8, 8), late, colours("p50", "green", "p99", "yellow"), scraped(lateness("0.5"), "p50"), scraped(lateness("0.99"), "p99")),
			row("Servers and k6", 25),
			series("CPU", "CPUs that each process uses. The agent measures the servers and itself; k6 measures itself. The rest of the host's use is the kernel's work in interrupts, the runner, Prometheus and other processes.",
				at(0, 26, 12, 9), with(lines("none", object{"axisLabel": "cores"}), object{"decimals": 2}), cpus,
				scraped(by("max", "command", rate(`netem_server_cpu_seconds_total{command!=""}`)), "{{command}}"), scraped("max("+rate("netem_agent_cpu_seconds_total")+")", "link agent"),
				scraped("sum("+rate("k6_process_cpu_seconds_total"+ofK6)+" and k6_process_cpu_seconds_total"+ofK6+")", "k6"),
				scraped("max("+rate("netem_host_cpu_busy_seconds_total")+")", "host, all"), scraped("max("+now("netem_host_cpus")+")", "host's CPUs")),
			series("Memory", "Memory of the processes, shared pages counted once. The page cache, from which pieces are served, is not included.",
				at(12, 26, 12, 9), lines("decbytes", nil), processes,
				scraped(by("max", "command", now(`netem_server_memory_bytes{command!=""}`)), "{{command}}"), scraped("max("+now("k6_process_resident_memory_bytes"+ofK6)+")", "k6")),
			series("Connections", "Open client connections at each server, idle ones too.",
				at(0, 35, 8, 8), lines("none", nil), targets, scraped("max("+now("nginx_connections_active")+")", "nginx"), scraped("max("+now("piece_gateway_connections")+")", "gateway")),
			series("Requests answered", "Requests per second, as the servers count them. nginx also counts those for its status page. The gateway counts by status.",
				at(8, 35, 8, 8), lines("reqps", nil), append(targets[:len(targets):len(targets)], matching("/^gateway [45]/", colour("red"))),
				scraped("max("+rate("nginx_http_requests_total")+")", "nginx"), scraped(by("sum", "code", rate("piece_gateway_requests_total")), "gateway {{code}}")),
			series("Gateway: reads from sectors", "Time of one read from the unsealed sectors, and responses that ended before their last byte: because the client left, as at the end of a cell, or because the store failed. A gap (NaN) means that nothing was read.",
				at(16, 35, 8, 8), lines("s", nil), append(colours("read p50", "green", "read p99", "yellow"), matching("/^aborted/", unit("reqps"), property("custom.axisPlacement", "right"), colour("red"))),
				scraped(reads("0.5"), "read p50"), scraped(reads("0.99"), "read p99"), scraped(by("sum", "cause", rate("piece_gateway_aborted_responses_total")), "aborted by {{cause}}")),
		})
}
