"use strict";
// What all charts have in common, in the page and in the picture: their
// options and texts are made by the program that writes the report.
const plain = { axisLabel: { formatter: (v) => String(v) } }; // 1000, as everywhere else, and not 1,000
const complete = (option, tooltip) => ({
	animation: false,
	grid: { left: 4, right: 18, top: 34, bottom: 22, outerBoundsMode: "same", outerBoundsContain: "axisLabel" },
	legend: { top: 0, left: 0, itemWidth: 22, itemHeight: 9, itemGap: 14, type: "scroll" },
	tooltip: tooltip ?? { show: false },
	...option,
	// Key by key: where types differ, setOption would drop what it had.
	xAxis: { nameLocation: "middle", nameGap: 24, ...option.xAxis, axisLabel: { ...plain.axisLabel, ...option.xAxis.axisLabel } },
	yAxis: { ...plain, ...option.yAxis },
});
