"use strict";
// What all charts have in common, in the page and in the picture: their
// series and texts are made by the program that writes the report.
const units = {
	plain: (v) => String(v), // 1000, as everywhere else, and not 1,000
	time: (ms) => (ms >= 1000 ? ms / 1000 + " s" : ms + " ms"),
	percent: (v) => v + " %",
};

// A logarithmic axis that ends at round values next to the data, not at powers
// of ten: most of these figures stay within one.
const logScale = (values) => {
	const least = Math.min(...values), greatest = Math.max(...values);
	if (!(least > 0)) return {};
	const decades = Math.log10(greatest / least);
	const steps = decades > 3.5 ? [1] : decades > 1.8 ? [1, 3] : decades > 0.8 ? [1, 2, 5] : [1, 2, 3, 4, 5, 6, 8];
	const ticks = [];
	for (let power = Math.floor(Math.log10(least)) - 1; power <= Math.ceil(Math.log10(greatest)) + 1; power++) {
		for (const step of steps) ticks.push(Number((step * 10 ** power).toPrecision(1)));
	}
	const first = ticks.findLastIndex((t) => t <= least), last = ticks.findIndex((t) => t >= greatest && t > ticks[first]);
	const customValues = ticks.slice(first, last + 1);
	return { min: ticks[first], max: ticks[last], axisTick: { customValues }, axisLabel: { customValues } };
};

// Heights that span less than this factor get room around them: a difference of a
// few per cent must not fill a chart.
const leastSpan = 4;
const spread = (values) => {
	const least = Math.min(...values), greatest = Math.max(...values), room = Math.sqrt((leastSpan * least) / greatest);
	return room > 1 ? [least / room, greatest * room] : values;
};

// The interval of a point: value is x, its low end and its high end.
const whisker = (_, api) => {
	const [x, low] = api.coord([api.value(0), api.value(1)]);
	const high = api.coord([api.value(0), api.value(2)])[1];
	const style = { stroke: api.visual("color"), lineWidth: 1.5 };
	const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style });
	return { type: "group", children: [line(x, low, x, high), line(x - 4, low, x + 4, low), line(x - 4, high, x + 4, high)] };
};

const legend = { top: 0, left: 0, itemWidth: 22, itemHeight: 9, itemGap: 14, type: "scroll" };
const complete = (option, tooltip) => {
	const values = (dimension) => option.series.flatMap((s) => s.data.map((d) => (d.value ?? d)[dimension]));
	const axis = (given, dimension) => {
		const scale = given.type === "log" && !given.axisLabel?.customValues ? logScale(dimension === 1 ? spread(values(1)) : values(0)) : {};
		return { ...given, ...scale, axisLabel: { formatter: units[given.unit ?? "plain"], hideOverlap: true, ...given.axisLabel, ...scale.axisLabel } };
	};
	return {
		animation: false,
		legend: { show: false },
		tooltip: tooltip ?? { show: false },
		...option,
		grid: { left: 4, right: option.xAxis.unit === "percent" ? 56 : 18, top: option.legend ? 34 : 10, bottom: option.xAxis.name ? 22 : 4,
			outerBoundsMode: "same", outerBoundsContain: "axisLabel", ...option.grid },
		xAxis: { nameLocation: "middle", nameGap: 24, ...axis(option.xAxis, 0) },
		yAxis: axis(option.yAxis, 1),
		series: option.series.map((s) => (s.type === "custom" ? { ...s, renderItem: whisker } : s)),
	};
};
