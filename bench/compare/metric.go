package compare

import (
	"slices"

	"piecebench/bench/bottleneck"
	"piecebench/bench/result"
)

// Metric is one figure that two sides are compared in.
type Metric struct {
	Name string // as in docs/METHODOLOGY.md
	Unit string // of Figure: "Mbit/s", "ms", "s/GB"; empty for a share
	// MoreIsBetter holds for goodput and success, not for times and costs.
	MoreIsBetter bool
	// value is the figure of one cell. Nil for the success rate, which is compared by counts.
	value func(result.Cell) (Figure, bool)
	// machine tells whether the measuring machine decided a cell's figure. Nil where it
	// cannot: a failed request has failed, and CPU time does not include waiting.
	machine func(result.Cell) bool
	unseen  bool // for servers outside the lab
}

// Figure is a value of a metric, or a lower bound of it.
type Figure struct {
	Value float64
	Bound bool // the true value is above
}

// Metrics are all that are compared of requests, in the order of the tables.
var Metrics = []Metric{
	Goodput,
	quantile("TTFB p50", func(c result.Cell) *result.Quantile { return c.TTFB.P50 }),
	quantile("TTFB p95", func(c result.Cell) *result.Quantile { return c.TTFB.P95 }),
	quantile("duration p50", func(c result.Cell) *result.Quantile { return c.Duration.P50 }),
	quantile("duration p95", func(c result.Cell) *result.Quantile { return c.Duration.P95 }),
	{Name: "success rate", MoreIsBetter: true},
	{Name: "server CPU", Unit: "s/GB", unseen: true, value: func(c result.Cell) (Figure, bool) {
		if c.ServerCPUSPerGB == nil {
			return Figure{}, false
		}
		return Figure{Value: *c.ServerCPUSPerGB}, true
	}},
}

// JobMetrics come before these where clients run jobs.
var JobMetrics = []Metric{
	JobTime,
	jobQuantile("job time p90", func(q result.JobQuantiles) *result.Quantile { return q.P90 }),
	jobQuantile("job time p99", func(q result.JobQuantiles) *result.Quantile { return q.P99 }),
}

// JobTime is the metric by which a report compares targets whose clients run jobs.
var JobTime = jobQuantile("job time p50", func(q result.JobQuantiles) *result.Quantile { return q.P50 })

// metricsOf returns what two runs of one workload are compared in.
func metricsOf(a, b *result.Run) []Metric {
	if a.HasJobs() || b.HasJobs() {
		return slices.Concat(JobMetrics, Metrics)
	}
	return Metrics
}

// Goodput is the metric by which a report compares targets.
var Goodput = Metric{Name: "goodput", Unit: "Mbit/s", MoreIsBetter: true, machine: bottleneck.DecidedByMachine,
	value: func(c result.Cell) (Figure, bool) { return Figure{Value: c.GoodputBits() / 1e6}, true }}

func jobQuantile(name string, of func(result.JobQuantiles) *result.Quantile) Metric {
	return quantile(name, func(c result.Cell) *result.Quantile {
		if c.Jobs == nil {
			return nil
		}
		return of(c.Jobs.Duration)
	})
}

func quantile(name string, of func(result.Cell) *result.Quantile) Metric {
	return Metric{Name: name, Unit: "ms", machine: bottleneck.TimesDecidedByMachine, value: func(c result.Cell) (Figure, bool) {
		q := of(c)
		if q == nil {
			return Figure{}, false
		}
		return Figure{q.Ms, q.Bound}, true
	}}
}
