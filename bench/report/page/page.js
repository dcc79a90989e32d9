"use strict";
// Draws the charts, whose options and texts were made when the report was:
// here they only get their place, the colours of the moment, and a tooltip.
(() => {
	const root = document.documentElement;
	// For whoever tests the page: no error and every chart drawn.
	addEventListener("error", (e) => { root.dataset.error = e.message; });
	const dark = matchMedia("(prefers-color-scheme: dark)");
	let printing = false;
	const themeName = () => (dark.matches && !printing ? "dark" : "light");
	for (const [name, theme] of Object.entries(themes)) echarts.registerTheme(name, theme);

	// Text nodes only: names come from outside.
	const tooltip = (params) => {
		const box = document.createElement("div");
		box.className = "tip";
		const add = (tag, text) => {
			const e = box.appendChild(document.createElement(tag));
			if (text) e.textContent = text;
			return e;
		};
		const clients = params[0].value[0];
		add("b", clients + (String(clients) === "1" ? " client" : " clients"));
		for (const p of params) {
			add("i").style.background = p.color;
			add("span", p.seriesName);
			add("span", p.data.text);
		}
		return box;
	};

	const drawn = new Map();
	const draw = (place) => {
		if (drawn.has(place)) return;
		const chart = echarts.init(place, themeName(), { renderer: "svg" });
		chart.setOption(complete(charts[place.dataset.chart].option, { trigger: "axis", formatter: tooltip, confine: true }));
		drawn.set(place, chart);
		place.dataset.drawn = "true";
	};
	const places = [...document.querySelectorAll(".plot")];
	// Only what is near the screen: a run of 500 cells has a hundred charts.
	const margin = 600;
	const near = new IntersectionObserver((entries) => {
		for (const e of entries) if (e.isIntersecting) { near.unobserve(e.target); draw(e.target); }
	}, { rootMargin: margin + "px" });
	for (const place of places) {
		if (place.getBoundingClientRect().top < innerHeight + margin) draw(place);
		else near.observe(place);
	}

	const each = (act) => { for (const chart of drawn.values()) act(chart); };
	const recolour = () => each((chart) => chart.setTheme(themeName()));
	dark.addEventListener("change", recolour);
	addEventListener("resize", () => each((chart) => chart.resize()));
	addEventListener("beforeprint", () => {
		printing = true;
		places.forEach(draw);
		recolour();
	});
	addEventListener("afterprint", () => {
		printing = false;
		recolour();
	});

	for (const button of document.querySelectorAll("button[data-log]")) {
		button.addEventListener("click", () => {
			const on = button.getAttribute("aria-pressed") !== "true";
			button.setAttribute("aria-pressed", String(on));
			const chart = drawn.get(document.querySelector(`.plot[data-chart="${button.dataset.log}"]`));
			chart?.setOption({ yAxis: on ? { ...plain, type: "log", min: null } : { ...plain, type: "value", min: 0 } });
		});
	}
})();
