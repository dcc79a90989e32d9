package main

import "fmt"

// ofCells matches the series of the run's cells that are selected.
const ofCells = `run="$run",link=~"$link",mode=~"$mode",target=~"$target"`

// cell is the last sample of finished cells within the time range. matchers select them.
func cell(metric, matchers string) string {
	return "last_over_time(piecebench_cell_" + metric + "{" + matchers + "}[$__range])"
}

func by(function, labels, expr string) string {
	return fmt.Sprintf("%s by (%s) (%s)", function, labels, expr)
}

// key is the labels of a row: a cell's without its repetition.
const key = "link, mode, concurrency, target"

// ratio is a figure of every other target over that of raw, row by row, each the
// mean of the repetitions.
func ratio(figure func(matchers string) string, matchers string) string {
	return figure(matchers+`target!="raw"`) + " / on (run, link, mode, concurrency) group_left () " + figure(matchers+`target="raw"`)
}

func goodput(matchers string) string {
	return by("avg", "run, "+key, cell("goodput_bits_per_second", matchers))
}

// exactTTFB is the mean p95 where no repetition has only a lower bound: leaving those
// out would leave out the slowest.
func exactTTFB(matchers string) string {
	return exact("run, "+key, matchers)
}

func exact(labels, matchers string) string {
	of := func(bound string) string {
		return cell("ttfb_seconds", matchers+`,quantile="0.95",bound="`+bound+`"`)
	}
	return "(" + by("avg", labels, of("exact")) + " unless on (" + labels + ") " + of("lower") + ")"
}

// interval is an end of the 99 % interval of a row's goodput ratio to raw: low or high.
func interval(end, matchers string) string {
	return by("max", "run, "+key, `last_over_time(piecebench_row_goodput_ratio{`+matchers+`end="`+end+`"}[$__range])`)
}

// inColumn gives an expression's series the name of a curve: $1 in it is the target.
func inColumn(expr, name string) string {
	return fmt.Sprintf(`label_replace(%s, "series", "%s", "target", "(.*)")`, expr, name)
}

// orNothing adds a point without a value where there is no finished cell: a trend
// without any data is an error.
func orNothing(expr string) string {
	return expr + "\nor\n" + `label_replace(label_replace(vector(NaN), "series", "no finished cell yet", "", ""), "concurrency", "1", "", "") unless on () ` +
		cell("goodput_bits_per_second", ofCells)
}
