// Draws charts: their place, the colours of the moment, tooltips and clicks.
const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");
let printing = false;
const themeName = () => (dark.matches && !printing ? "dark" : "light");
for (const [name, theme] of Object.entries(themes)) echarts.registerTheme(name, theme);

// Names come from outside: text nodes only.
const element = (tag, text, className) => {
	const e = document.createElement(tag);
	if (text !== undefined) e.textContent = text;
	if (className) e.className = className;
	return e;
};
const clients = (n) => n + (String(n) === "1" ? " client" : " clients");

// lines are [colour, name, text].
const tip = (head, lines) => {
	const box = element("div", undefined, "tip");
	box.append(element("b", head));
	for (const [colour, name, text] of lines) {
		const swatch = element("i");
		swatch.style.background = colour;
		box.append(swatch, element("span", name), element("span", text));
	}
	return box;
};

const drawn = new Map(); // place -> chart
const hidden = new Set(); // targets that the reader left out
const hiddenParts = new Set(); // and quantiles
const draw = (place, option, formatter, click) => {
	let chart = drawn.get(place);
	if (!chart) {
		chart = echarts.init(place, themeName(), { renderer: "svg" });
		drawn.set(place, chart);
		resized.observe(place);
		if (click) chart.getZr().on("click", () => click());
		place.dataset.drawn = "true";
	}
	chart.setOption(complete(option, { trigger: "axis", axisPointer: { type: option.yAxis.type === "category" ? "shadow" : "line" }, formatter, confine: true }), { notMerge: true });
	for (const name of hidden) chart.dispatchAction({ type: "legendUnSelect", name });
	return chart;
};
const resized = new ResizeObserver((entries) => {
	for (const e of entries) if (e.contentRect.width > 0) drawn.get(e.target).resize();
});

// The charts of the links, whose options the page holds. A click anywhere in a chart chooses
// the row that its tooltip shows.
const stored = (place) => {
	const { option } = charts[place.dataset.chart];
	return { ...option, series: option.series.filter((s) => !hiddenParts.has(s.part)) };
};
const drawStored = (place) => {
	if (drawn.has(place)) return;
	const { heads, across } = charts[place.dataset.chart];
	let pointed;
	const formatter = (params) => {
		const shown = params.filter((p) => p.data?.text);
		if (shown.length === 0) return "";
		pointed = shown.find((p) => p.data.row !== undefined)?.data.row;
		const at = shown[0].value[0];
		return tip(heads?.[shown[0].dataIndex] ?? (across ? `mode ${at}` : clients(at)), shown.map((p) => [p.color, p.seriesName, p.data.text]));
	};
	const chart = draw(place, stored(place), formatter, () => pointed !== undefined && explorer.choose(pointed));
	chart.on("globalout", () => { pointed = undefined; });
};
const places = [...document.querySelectorAll("[data-chart]")];
// Only charts near the screen are drawn: a run of 500 cells has over a hundred charts.
const near = new IntersectionObserver((entries) => {
	for (const e of entries) {
		if (e.isIntersecting) for (const place of e.target.closest(".modes").querySelectorAll("[data-chart]")) { near.unobserve(place); drawStored(place); }
	}
}, { rootMargin: "600px" });
places.forEach((place) => near.observe(place));

const showTarget = (name, on) => {
	if (on) hidden.delete(name); else hidden.add(name);
	for (const chart of drawn.values()) chart.dispatchAction({ type: on ? "legendSelect" : "legendUnSelect", name });
};
const showQuantile = (part, on) => {
	if (on) hiddenParts.delete(part); else hiddenParts.add(part);
	for (const [place, chart] of drawn) {
		if (charts[place.dataset.chart]?.option.series.some((s) => s.part === part)) {
			const { yAxis, series } = complete(stored(place));
			chart.setOption({ yAxis, series }, { replaceMerge: ["series", "yAxis"] });
		}
	}
};

const recolour = () => drawn.forEach((chart) => chart.setTheme(themeName()));
dark.addEventListener("change", recolour);
// Paper shows all that the choices hide, in the width of a page.
addEventListener("beforeprint", () => {
	printing = true;
	root.classList.add("printing");
	document.querySelectorAll("details").forEach((d) => { d.open = true; });
	places.forEach(drawStored);
	drawn.forEach((chart) => chart.resize());
	recolour();
});
addEventListener("afterprint", () => {
	printing = false;
	root.classList.remove("printing");
	drawn.forEach((chart) => chart.resize());
	recolour();
});
