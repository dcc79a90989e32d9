package dashboards

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// values are what a dashboard's variables stand for in a query.
type values map[string]string

var variable = regexp.MustCompile(`\$(?:\{(\w+)\}|(\w+))`)

// interpolate replaces the variables of an expression. $1, $2, ... are left:
// they are PromQL's own.
func (v values) interpolate(expr string) (string, error) {
	var unknown string
	out := variable.ReplaceAllStringFunc(expr, func(found string) string {
		name := strings.Trim(found, "${}")
		if _, err := strconv.Atoi(name); err == nil {
			return found
		}
		value, ok := v[name]
		if !ok {
			unknown = found
		}
		return value
	})
	if unknown != "" {
		return "", fmt.Errorf("no variable %s", unknown)
	}
	return out, nil
}

// with returns v with one more value.
func (v values) with(name, value string) values {
	out := maps.Clone(v)
	out[name] = value
	return out
}

// anyOf is what Grafana makes of a variable with these values all chosen.
func anyOf(options []string) string {
	quoted := make([]string, len(options))
	for i, o := range options {
		quoted[i] = strings.ReplaceAll(regexp.QuoteMeta(o), `\`, `\\`)
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	return "(" + strings.Join(quoted, "|") + ")"
}

var labelValues = regexp.MustCompile(`^label_values\((.+), *(\w+)\)$`)

// labelQuery returns the selector and the label of a variable's query.
func (v Variable) labelQuery() (selector, label string, err error) {
	match := labelValues.FindStringSubmatch(v.Query.Query)
	if match == nil {
		return "", "", fmt.Errorf("variable %s: want label_values(SELECTOR, LABEL), not %q", v.Name, v.Query.Query)
	}
	return match[1], match[2], nil
}

// Where Grafana's steps come from.
const (
	scrapeInterval = 2 * time.Second // the datasource's timeInterval
	panelPoints    = 1000            // a panel's width in pixels, about
)

// times returns v with the durations that Grafana gives to a query over a range
// of time, and the query's step.
func (v values) times(t Target, span time.Duration) (values, time.Duration, error) {
	scrape := scrapeInterval
	if t.Interval != "" {
		var err error
		if scrape, err = time.ParseDuration(t.Interval); err != nil {
			return nil, 0, err
		}
	}
	step := max(scrape, (span / panelPoints).Round(time.Second))
	return v.
		with("__range", seconds(span)).
		with("__interval", seconds(step)).
		with("__rate_interval", seconds(max(step+scrape, 4*scrape))), step, nil
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) + "s" }

// each calls do once for every combination of the values of the variables that
// a panel is repeated by, else once.
func (v values) each(options map[string][]string, repeat []string, do func(values)) {
	repeat = slices.DeleteFunc(slices.Clone(repeat), func(name string) bool { return name == "" })
	if len(repeat) == 0 {
		do(v)
		return
	}
	for _, value := range options[repeat[0]] {
		v.with(repeat[0], anyOf([]string{value})).each(options, repeat[1:], do)
	}
}
