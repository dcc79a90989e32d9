package dashboards

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// Check runs the query of every variable, annotation and panel against the
// Prometheus at a base URL, over the time of one of its runs, with every link, mode
// and target selected. The error names each query that fails or returns nothing, unless
// not every run has its series.
func Check(ctx context.Context, prometheusURL, run string) error {
	client, err := api.NewClient(api.Config{Address: prometheusURL})
	if err != nil {
		return err
	}
	c := checker{ctx: ctx, api: prometheus.NewAPI(client), run: run}
	begin, err := c.edge("min(min_over_time(piecebench_cell_window_start_timestamp_seconds{run=%q}[1d]))")
	if err != nil {
		return err
	}
	if c.to, err = c.edge("max(max_over_time(piecebench_cell_window_end_timestamp_seconds{run=%q}[1d]))"); err != nil {
		return err
	}
	c.from = begin.Add(-15 * time.Second) // the calibration and the warm-up
	all, err := Load()
	if err != nil {
		return err
	}
	var problems []error
	for _, d := range all {
		for where, err := range c.dashboard(d) {
			problems = append(problems, fmt.Errorf("%s: %s: %w", d.File, where, err))
		}
	}
	return errors.Join(problems...)
}

var errNoData = errors.New("no data")

// someRuns have these series: those with three repetitions, and those of a workload that
// has jobs.
var someRuns = regexp.MustCompile(`piecebench_row_goodput_ratio|k6_jobs_total|k6_job_duration_seconds|k6_stage_duration_seconds`)

type checker struct {
	ctx      context.Context
	api      prometheus.API
	run      string
	from, to time.Time
}

// edge returns the time that a query for the run returns.
func (c *checker) edge(format string) (time.Time, error) {
	expr := fmt.Sprintf(format, c.run)
	result, _, _, err := c.api.Query(c.ctx, expr, time.Now())
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: %w", expr, err)
	}
	vector, _ := result.(model.Vector)
	if len(vector) != 1 {
		return time.Time{}, fmt.Errorf("no finished cell of run %s in the last day: %s returns nothing", c.run, expr)
	}
	return time.UnixMilli(int64(float64(vector[0].Value) * 1000)), nil
}

// dashboard returns the errors of a dashboard's queries by their place.
func (c *checker) dashboard(d Dashboard) map[string]error {
	problems := map[string]error{}
	values := map[string]string{"__range": seconds(c.to.Sub(c.from))}
	for _, v := range d.Templating.List {
		if v.Type == "datasource" {
			continue
		}
		if values[v.Name] = c.run; v.Multi {
			values[v.Name] = ".+"
		}
		if err := c.variable(v, values); err != nil {
			problems["variable "+v.Name] = err
		}
	}
	for _, a := range d.Annotations.List {
		if a.BuiltIn == 0 {
			if err := c.query(a.Target, values); err != nil {
				problems["annotation "+a.Name] = err
			}
		}
	}
	for _, p := range d.Panels {
		for _, t := range p.Targets {
			if err := c.query(t, values); err != nil && !(errors.Is(err, errNoData) && someRuns.MatchString(t.Expr)) {
				problems[fmt.Sprintf("panel %d, %q, query %s", p.ID, p.Title, t.RefID)] = err
			}
		}
	}
	return problems
}

var labelValues = regexp.MustCompile(`^label_values\((.+), *(\w+)\)$`)

var queryResult = regexp.MustCompile(`^query_result\((.+)\)$`)

// variable returns an error unless the variable offers a value.
func (c *checker) variable(v Variable, values map[string]string) error {
	if match := queryResult.FindStringSubmatch(string(v.Query)); match != nil {
		return c.query(Target{Expr: match[1], Instant: true}, values)
	}
	match := labelValues.FindStringSubmatch(string(v.Query))
	if match == nil {
		return fmt.Errorf("want label_values(SELECTOR, LABEL) or query_result(QUERY), not %q", v.Query)
	}
	selector, err := interpolate(match[1], values)
	if err != nil {
		return err
	}
	offered, _, _, err := c.api.LabelValues(c.ctx, match[2], []string{selector}, c.from, c.to)
	if err == nil && (len(offered) == 0 || !v.Multi && !slices.Contains(offered, model.LabelValue(c.run))) {
		err = fmt.Errorf("%s offers %q", v.Query, offered)
	}
	return err
}

// The shortest step of a range query is the datasource's timeInterval, and Grafana's
// $__rate_interval four times that.
const scrapeInterval = 2 * time.Second

// Result returns what a panel's query returns, over a time range and with the values of
// the dashboard's variables.
func Result(ctx context.Context, prometheusURL string, t Target, variables map[string]string, from, to time.Time) (model.Value, error) {
	client, err := api.NewClient(api.Config{Address: prometheusURL})
	if err != nil {
		return nil, err
	}
	values := maps.Clone(variables)
	values["__range"] = seconds(to.Sub(from))
	c := checker{ctx: ctx, api: prometheus.NewAPI(client), from: from, to: to}
	result, _, err := c.result(t, values)
	return result, err
}

// result returns what a query returns, and the query.
func (c *checker) result(t Target, values map[string]string) (model.Value, string, error) {
	step := scrapeInterval
	if t.Interval != "" {
		var err error
		if step, err = time.ParseDuration(t.Interval); err != nil {
			return nil, "", err
		}
	}
	values["__interval"], values["__rate_interval"] = seconds(step), seconds(4*step)
	expr, err := interpolate(t.Expr, values)
	if err != nil {
		return nil, "", err
	}
	var result model.Value
	if t.Instant {
		result, _, _, err = c.api.Query(c.ctx, expr, c.to)
	} else {
		result, _, _, err = c.api.QueryRange(c.ctx, expr, prometheus.Range{Start: c.from, End: c.to.Add(time.Second), Step: step})
	}
	return result, expr, err
}

// query returns an error unless a query returns a number.
func (c *checker) query(t Target, values map[string]string) error {
	result, expr, err := c.result(t, values)
	if err == nil && !hasNumber(result) {
		err = errNoData
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, expr)
	}
	return nil
}

// variables of Grafana; $1, $2, ... are PromQL's own.
var variables = regexp.MustCompile(`\$\{?([a-zA-Z_]\w*)\}?`)

func interpolate(expr string, values map[string]string) (string, error) {
	var err error
	return variables.ReplaceAllStringFunc(expr, func(found string) string {
		value, ok := values[variables.FindStringSubmatch(found)[1]]
		if !ok {
			err = fmt.Errorf("no variable %s: %s", found, expr)
		}
		return value
	}), err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%ds", int(d.Seconds())) }

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
