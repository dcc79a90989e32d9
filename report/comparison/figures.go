package comparison

import (
	"fmt"
	"strings"

	"piecebench/bench/compare"
	"piecebench/bench/readable"
	"piecebench/report"
)

// figure writes a metric's value with its unit.
func figure(m compare.Metric, f compare.Figure) string {
	text := ""
	switch {
	case f == compare.Figure{} && !m.IsDifference():
		return report.Missing
	case m.IsDifference():
		text = readable.Percent(f.Value)
	case m.Unit == "ms":
		text = readable.Duration(f.Value)
	default:
		text = readable.ThreeDigits(f.Value) + " " + m.Unit
	}
	if f.Bound {
		text = "> " + text
	}
	return text
}

// change writes how far B is from A, or a bound of it.
func change(e compare.Estimate) string {
	text := scale(e, e.Change)
	switch {
	case !e.Known:
		return report.Missing
	case e.AtLeast:
		return "> " + text
	case e.AtMost:
		return "< " + text
	}
	return text
}

// interval writes the interval of change, which may be open at one end.
func interval(e compare.Estimate) string {
	switch {
	case !e.Interval:
		return report.Missing
	case e.Metric.IsDifference():
		return strings.TrimSuffix(scale(e, e.Low), points) + " to " + scale(e, e.High)
	}
	return readable.Interval(1+e.Low, 1+e.High, readable.Ratio)
}

const points = " points"

// scale writes a change as a ratio, or as a difference in percentage points.
func scale(e compare.Estimate, change float64) string {
	if e.Metric.IsDifference() {
		return fmt.Sprintf("%+.2f", 100*change) + points
	}
	return readable.Ratio(1 + change)
}
