package compare

import "piecebench/bench/result"

// Metric is one figure that two sides are compared in.
type Metric struct {
	Name string // as in docs/METHODOLOGY.md
	Unit string // of Figure: "Mbit/s", "ms", "s/GB"; empty for a share
	// More is better of goodput and success, less of times and costs.
	MoreIsBetter bool
	// value is the figure of one cell. Nil for the success rate, which is
	// compared by counts.
	value func(result.Cell) (Figure, bool)
}

// Figure is a value of a metric, or a lower bound of it.
type Figure struct {
	Value float64
	Bound bool // the true value is above
}

// Metrics are all that are compared, in the order of the tables.
var Metrics = []Metric{
	Goodput,
	{"TTFB p50", "ms", false, quantile(func(c result.Cell) *result.Quantile { return c.TTFB.P50 })},
	{"TTFB p95", "ms", false, quantile(func(c result.Cell) *result.Quantile { return c.TTFB.P95 })},
	{"duration p50", "ms", false, quantile(func(c result.Cell) *result.Quantile { return c.Duration.P50 })},
	{"duration p95", "ms", false, quantile(func(c result.Cell) *result.Quantile { return c.Duration.P95 })},
	{"success rate", "", true, nil},
	{"server CPU", "s/GB", false, func(c result.Cell) (Figure, bool) {
		if c.ServerCPUSPerGB == nil {
			return Figure{}, false
		}
		return Figure{Value: *c.ServerCPUSPerGB}, true
	}},
}

// Goodput is the metric that a report compares targets by.
var Goodput = Metric{"goodput", "Mbit/s", true, func(c result.Cell) (Figure, bool) {
	return Figure{Value: c.GoodputBits() / 1e6}, true
}}

func quantile(of func(result.Cell) *result.Quantile) func(result.Cell) (Figure, bool) {
	return func(c result.Cell) (Figure, bool) {
		q := of(c)
		if q == nil {
			return Figure{}, false
		}
		return Figure{q.Ms, q.Bound}, true
	}
}
