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
const quantiles = [...document.querySelectorAll("input[data-quantile]")];
for (const input of quantiles) {
	input.checked = input.defaultChecked;
	if (!input.checked) hiddenParts.add(input.dataset.quantile);
	input.addEventListener("change", () => {
		for (const other of quantiles) if (other.dataset.quantile === input.dataset.quantile) other.checked = input.checked;
		showQuantile(input.dataset.quantile, input.checked);
	});
}
for (const button of document.querySelectorAll("button[data-log]")) {
	button.addEventListener("click", () => {
		const on = button.getAttribute("aria-pressed") !== "true";
		button.setAttribute("aria-pressed", String(on));
		for (const place of button.closest(".pane").querySelectorAll(".goodput [data-chart]")) {
			drawStored(place);
			const option = stored(place);
			const { yAxis } = complete(on ? { ...option, yAxis: { type: "log" } } : option);
			drawn.get(place).setOption({ yAxis }, { replaceMerge: ["yAxis"] });
		}
	});
}
// A click anywhere in a line of a table follows its link.
document.addEventListener("click", (e) => {
	const line = e.target.closest("tr");
	if (line && !e.target.closest("a") && getSelection().isCollapsed) line.querySelector("a[href^='#']")?.click();
});
explorer.fromAddress();
