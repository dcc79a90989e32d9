// The explorer shows one row with all its targets. The page's address names the chosen row,
// so that links and the browser's back button work.
const explorer = (() => {
	const { labels, targets, glyphs, rows, first, bound } = explored;
	const at = (id) => document.getElementById(id);
	const selects = { link: at("choose-link"), mode: at("choose-mode"), clients: at("choose-clients"), repetition: at("choose-repetition") };
	let current, repetition; // repetition: 0 for all together, else which

	const fill = (select, options, value) => {
		select.replaceChildren(...options.map(([v, text]) => new Option(text, v, false, String(v) === String(value))));
		select.disabled = options.length < 2;
	};
	const unique = (list) => [...new Map(list.map((o) => [o[0], o]))].map(([, o]) => o);
	const same = (a, b) => Object.entries(b).every(([k, v]) => String(a[k]) === String(v));

	const address = (row, rep) => "#" + new URLSearchParams({ clients: row.clients, link: row.link, mode: row.mode, ...(rep ? { repetition: rep } : {}) });
	const go = (row, rep = 0) => { location.hash = address(row, rep); };
	const fromAddress = () => {
		const wanted = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
		const { repetition: rep = 0, ...place } = wanted;
		const found = place.link === undefined ? undefined : rows.find((c) => same(c, place));
		if (found) show(found, Number(rep), true);
		else if (!current && rows.length > 0) show(rows[first], 0, false);
	};
	addEventListener("hashchange", fromAddress);
	// The row nearest to the selects: not every combination was measured.
	const fromSelects = (changed) => {
		const wanted = { link: selects.link.value, mode: selects.mode.value, clients: selects.clients.value };
		const keep = { link: ["link"], mode: ["link", "mode"], clients: ["link", "mode", "clients"] }[changed];
		const of = (keys) => Object.fromEntries(keys.map((k) => [k, wanted[k]]));
		go(rows.find((c) => same(c, wanted)) ?? rows.find((c) => same(c, { ...of(keep), clients: wanted.clients })) ?? rows.find((c) => same(c, of(keep))));
	};
	for (const key of ["link", "mode", "clients"]) selects[key].addEventListener("change", () => fromSelects(key));
	selects.repetition.addEventListener("change", () => go(current, Number(selects.repetition.value)));

	// The samples of the chosen repetition, by target; undefined where there is none.
	const samples = () => current.samples.map((all) => {
		if (!all) return undefined;
		return all[repetition ? current.repetitions.indexOf(repetition) + 1 : 0];
	});

	const show = (row, rep, chosen) => {
		current = row;
		repetition = row.repetitions.includes(rep) ? rep : 0;
		fill(selects.link, unique(rows.map((c) => [c.link, c.linkName])), row.link);
		fill(selects.mode, unique(rows.filter((c) => c.link === row.link).map((c) => [c.mode, c.mode])), row.mode);
		fill(selects.clients, rows.filter((c) => c.link === row.link && c.mode === row.mode).map((c) => [c.clients, c.clients]), row.clients);
		fill(selects.repetition, [[0, row.repetitions.length ? "all together" : "1"], ...row.repetitions.map((r) => [r, r])], repetition);
		selects.repetition.parentElement.hidden = row.repetitions.length === 0;
		at("explored").textContent = row.name;
		at("explored-note").textContent = row.note;
		at("explored-note").hidden = !row.note;
		choosePane("link", String(row.pane));
		for (const a of document.querySelectorAll("a.row")) {
			const is = same(row, Object.fromEntries(new URLSearchParams(a.hash.slice(1))));
			if (is) a.setAttribute("aria-current", "true"); else a.removeAttribute("aria-current");
		}
		table();
		distributions();
		goodput();
		if (chosen) at("explorer").scrollIntoView({ behavior: "smooth", block: "start" });
	};

	const table = () => {
		const shown = samples();
		const head = element("tr");
		head.append(element("th", ""), ...targets.flatMap((name, t) => {
			if (!shown[t]) return [];
			const th = element("th", " " + name);
			const glyph = element("span", glyphs[t], "glyph");
			glyph.style.color = `var(--t${t % 6})`;
			th.prepend(glyph);
			return [th];
		}));
		const lines = labels.flatMap((label, i) => {
			const texts = shown.filter(Boolean).map((s) => s.facts[i]);
			if (texts.every((text) => !text)) return [];
			const line = element("tr");
			const th = element("th", label);
			th.scope = "row";
			line.append(th, ...texts.map((text) => element("td", text || "–")));
			return [line];
		});
		at("facts").replaceChildren(head, ...lines);
	};

	const toolbox = { right: 0, top: -4, itemSize: 13, feature: { dataZoom: { title: { zoom: "zoom", back: "back" } }, restore: { title: "whole" } } };
	const line = (t, extra) => ({ type: "line", name: targets[t], symbol: "none", lineStyle: { width: 2 }, ...extra });
	const nothing = (place, on) => { at(place).parentElement.classList.toggle("nothing", on); };

	// Kaplan and Meier's curve is a staircase; where cut requests end it, an open
	// mark says that it goes on unseen.
	const distributions = () => {
		at("explored-curves").hidden = !samples().some((s) => s?.ttfb || s?.duration || s?.job);
		for (const what of ["ttfb", "duration", "job"]) {
			const shown = samples().map((s) => s?.[what]);
			nothing("plot-" + what, !shown.some(Boolean));
			if (!shown.some(Boolean)) continue;
			const series = shown.map((d, t) => {
				if (!d) return line(t, { data: [] });
				const steps = d.steps.length > 0 ? d.steps.map(([ms, share]) => [ms, 100 * share]) : [[d.end / 10, 0]]; // nothing ended
				const data = [[steps[0][0], 0], ...steps];
				const last = steps.at(-1);
				if (last[1] < 99.99) data.push({ value: [Math.max(d.end, last[0]), last[1]], symbol: bound, symbolSize: 11 });
				return line(t, { data, step: "end", symbol: "none", showSymbol: true });
			});
			const option = { toolbox, grid: { top: 28 }, xAxis: { type: "log", unit: "time" }, yAxis: { type: "value", min: 0, max: 100, unit: "percent" }, series };
			draw(at("plot-" + what), option, (params) => {
				const ms = params[0].axisValue;
				const lines = shown.flatMap((d, t) => {
					if (!d || hidden.has(targets[t])) return [];
					const share = d.steps.findLast(([at]) => at <= ms)?.[1] ?? 0;
					const text = ms > d.end ? "not seen that long" : Math.round(1e4 * share) / 100 + " %";
					return [[params.find((p) => p.seriesName === targets[t])?.color ?? colourOf(t), targets[t], text]];
				});
				return tip("within " + units.time(Number(ms.toPrecision(3))), lines);
			});
		}
	};
	const colourOf = (t) => themes[themeName()].color[t % 6];

	const goodput = () => {
		// All together: every repetition is a line.
		const series = current.samples.flatMap((all, t) => {
			if (!all) return [];
			const of = repetition ? samples().slice(t, t + 1) : all.filter((s) => s.goodput);
			return of.filter((s) => s?.goodput).map((s, i) => line(t, { id: t + "/" + i, data: s.goodput, lineStyle: { width: of.length > 1 ? 1.2 : 2 } }));
		});
		nothing("plot-goodput", series.length === 0);
		if (series.length === 0) return;
		const end = current.window;
		const mark = {
			type: "line", name: "window", data: [[0, current.ceiling]], symbol: "none", silent: true, // the scale has room for the ceiling
			markArea: { itemStyle: { color: "rgba(120,140,170,.12)" }, data: [[{ xAxis: 0 }, { xAxis: end }]] },
			...(current.ceiling ? { markLine: { symbol: "none", label: { show: false }, lineStyle: { type: "dotted", width: 2, color: "#8a8f98" }, data: [{ yAxis: current.ceiling }] } } : {}),
		};
		const option = {
			toolbox, grid: { top: 28 },
			xAxis: { type: "value", name: "seconds since the window began", min: Math.floor(Math.min(0, ...series.map((s) => s.data[0][0]))), max: Math.ceil(end) },
			yAxis: { type: "value", min: 0 }, series: [...series, mark],
		};
		draw(at("plot-goodput"), option, (params) => {
			const t = params[0].axisValue;
			const lines = series.flatMap((s) => {
				if (hidden.has(s.name)) return [];
				const point = s.data.reduce((best, d) => (Math.abs(d[0] - t) < Math.abs(best[0] - t) ? d : best));
				return Math.abs(point[0] - t) > 0.6 * (s.data[1]?.[0] - s.data[0][0] || 1) ? [] : [[colourOf(targets.indexOf(s.name)), s.name, point[1] + " Mbit/s"]];
			});
			return tip(Number(t.toPrecision(3)) + " s", lines);
		});
	};

	return { choose: (i) => go(rows[i]), target: (i) => targets[i], fromAddress };
})();
