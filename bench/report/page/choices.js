// Choices show one pane of several: <input type="radio" data-choice="N" value="V">
// shows those with data-pane="N" data-value="V".
const choosePane = (name, value) => {
	for (const input of document.querySelectorAll(`[data-choice="${name}"]`)) input.checked = input.value === value;
	for (const pane of document.querySelectorAll(`[data-pane="${name}"]`)) pane.classList.toggle("off", pane.dataset.value !== value);
};
for (const input of document.querySelectorAll("[data-choice]")) {
	input.addEventListener("change", () => choosePane(input.dataset.choice, input.value));
	if (input.defaultChecked) choosePane(input.dataset.choice, input.value); // browsers restore what was chosen before a reload
}
for (const input of document.querySelectorAll("input[data-target]")) {
	input.checked = true;
	input.addEventListener("change", () => showTarget(explorer.target(input.dataset.target), input.checked));
}
for (const button of document.querySelectorAll("button[data-log]")) {
	button.addEventListener("click", () => {
		const on = button.getAttribute("aria-pressed") !== "true";
		button.setAttribute("aria-pressed", String(on));
		for (const place of button.closest(".pane").querySelectorAll(".goodput [data-chart]")) {
			drawStored(place);
			const { option } = charts[place.dataset.chart];
			const yAxis = on ? { type: "log" } : option.yAxis;
			drawn.get(place).setOption({ yAxis: { min: null, max: null, axisLabel: {}, ...complete({ ...option, yAxis }).yAxis } });
		}
	});
}
// A click anywhere in a row with a cell chooses it.
document.addEventListener("click", (e) => {
	const row = e.target.closest("tr");
	if (row && !e.target.closest("a") && getSelection().isCollapsed) row.querySelector("a[href^='#']")?.click();
});
explorer.fromAddress();
