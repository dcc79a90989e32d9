package dashboards

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// Check runs every query of every panel, variable and annotation against the
// Prometheus at a base URL, over the time of one run that it has whole, with
// every link, mode and target chosen, and once for each value where a panel is
// repeated. The error names each query that fails or returns nothing.
func Check(ctx context.Context, prometheusURL, run string) error {
	client, err := api.NewClient(api.Config{Address: prometheusURL})
	if err != nil {
		return err
	}
	c := checker{api: prometheus.NewAPI(client), run: run}
	if err := c.findTimes(ctx); err != nil {
		return err
	}
	all, err := Load()
	if err != nil {
		return err
	}
	var problems []error
	for _, d := range all {
		for _, err := range c.dashboard(ctx, d) {
			problems = append(problems, fmt.Errorf("%s: %w", d.File, err))
		}
	}
	return errors.Join(problems...)
}

type checker struct {
	api      prometheus.API
	run      string
	from, to time.Time
}

// margin is what a person would see of a run before and after its windows: its
// calibration and warm-up, and the last scrapes.
const margin = 15 * time.Second

// findTimes reads from the run's cells when it was.
func (c *checker) findTimes(ctx context.Context) error {
	for expr, into := range map[string]*time.Time{
		fmt.Sprintf("min(min_over_time(piecebench_cell_window_start_timestamp_seconds{run=%q}[1d]))", c.run): &c.from,
		fmt.Sprintf("max(max_over_time(piecebench_cell_window_end_timestamp_seconds{run=%q}[1d]))", c.run):   &c.to,
	} {
		result, _, _, err := c.api.Query(ctx, expr, time.Now())
		if err != nil {
			return fmt.Errorf("%s: %w", expr, err)
		}
		vector, _ := result.(model.Vector)
		if len(vector) != 1 {
			return fmt.Errorf("no finished cell of run %s in the last day: %s returns nothing", c.run, expr)
		}
		*into = time.UnixMilli(int64(float64(vector[0].Value) * 1000))
	}
	c.from, c.to = c.from.Add(-margin).Truncate(time.Second), c.to.Add(time.Second)
	return nil
}

func (c *checker) dashboard(ctx context.Context, d Dashboard) (problems []error) {
	given := values{}
	options := map[string][]string{}
	for _, v := range d.Templating.List {
		found, err := c.options(ctx, v, given)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		options[v.Name] = found
		given[v.Name] = c.run
		if v.Multi {
			given[v.Name] = anyOf(found)
		} else if !slices.Contains(found, c.run) {
			problems = append(problems, fmt.Errorf("variable %s does not offer run %s, only %q", v.Name, c.run, found))
		}
	}
	for _, a := range d.Annotations.List {
		if a.BuiltIn == 0 {
			if err := c.query(ctx, a.Target, given); err != nil {
				problems = append(problems, fmt.Errorf("annotation %s: %w", a.Name, err))
			}
		}
	}
	var row Panel
	for _, p := range d.Panels {
		if p.Type == "row" {
			row = p
			continue
		}
		for _, t := range p.Targets {
			given.each(options, []string{row.Repeat, p.Repeat}, func(v values) {
				if err := c.query(ctx, t, v); err != nil {
					problems = append(problems, fmt.Errorf("panel %d, %q, query %s: %w", p.ID, p.Title, t.RefID, err))
				}
			})
		}
	}
	return problems
}

// options returns the values that a variable offers.
func (c *checker) options(ctx context.Context, v Variable, given values) ([]string, error) {
	selector, label, err := v.labelQuery()
	if err != nil {
		return nil, err
	}
	if selector, err = given.interpolate(selector); err != nil {
		return nil, fmt.Errorf("variable %s: %w", v.Name, err)
	}
	found, _, _, err := c.api.LabelValues(ctx, label, []string{selector}, c.from, c.to)
	if err != nil {
		return nil, fmt.Errorf("variable %s: %s: %w", v.Name, selector, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("variable %s offers nothing: no series %s", v.Name, selector)
	}
	var out []string
	for _, value := range found {
		out = append(out, string(value))
	}
	return out, nil
}

// query runs one query, and returns an error unless it returns a number.
func (c *checker) query(ctx context.Context, t Target, given values) error {
	given, step, err := given.times(t, c.to.Sub(c.from))
	if err != nil {
		return err
	}
	expr, err := given.interpolate(t.Expr)
	if err != nil {
		return fmt.Errorf("%s: %w", t.Expr, err)
	}
	var result model.Value
	if t.Instant {
		result, _, _, err = c.api.Query(ctx, expr, c.to)
	} else {
		result, _, _, err = c.api.QueryRange(ctx, expr, prometheus.Range{Start: c.from, End: c.to, Step: step})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", expr, err)
	}
	if !hasNumber(result) {
		return fmt.Errorf("no data: %s", expr)
	}
	return nil
}

// hasNumber says whether a panel would have something to draw.
func hasNumber(result model.Value) bool {
	number := func(v model.SampleValue) bool { return !math.IsNaN(float64(v)) }
	switch r := result.(type) {
	case model.Vector:
		return slices.ContainsFunc(r, func(s *model.Sample) bool { return s.Histogram != nil || number(s.Value) })
	case model.Matrix:
		return slices.ContainsFunc(r, func(s *model.SampleStream) bool {
			return len(s.Histograms) > 0 || slices.ContainsFunc(s.Values, func(p model.SamplePair) bool { return number(p.Value) })
		})
	}
	return false
}
