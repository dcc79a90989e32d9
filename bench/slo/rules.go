// Package slo checks the figures of a run against limits.
package slo

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"piecebench/netem/link"
)

// Rule is one entry of a file of limits. It selects cells and gives limits, which must
// hold in each repetition. A limit that is nil is not given.
type Rule struct {
	// Selectors are names, separated by commas. A * matches any text. An empty
	// selector selects everything.
	Target, Link, Mode, Concurrency string

	SuccessRate *Share `yaml:"success_rate"` // minimum
	LinkShare   *Share `yaml:"link_share"`   // minimum
	// ClientGoodput is the minimum goodput of a cell, divided by its clients.
	ClientGoodput *Rate `yaml:"client_goodput"`
	TTFBP50       *Time `yaml:"ttfb_p50"` // maximum
	TTFBP95       *Time `yaml:"ttfb_p95"` // maximum
	TTFBP99       *Time `yaml:"ttfb_p99"` // maximum
	// Limits of jobs, for workloads that have them.
	JobSuccessRate *Share `yaml:"job_success_rate"` // minimum
	JobP50         *Time  `yaml:"job_p50"`          // maximum
	JobP90         *Time  `yaml:"job_p90"`          // maximum
	JobP99         *Time  `yaml:"job_p99"`          // maximum
	// GoodputOver is the minimum ratio of the goodput to that of another target, by the
	// name of that target. It is computed from all repetitions together.
	GoodputOver map[string]Ratio `yaml:"goodput_over"`

	line int // in the file
}

// Share is a number from 0 to 1. It is written as 0.999 or as 99.9%.
type Share float64

// Ratio is a number of 0 or more. It is written as 0.95 or as 95%.
type Ratio float64

// Time is written as a Go duration, such as 200ms or 1.5s.
type Time time.Duration

// Rate is in bits per second. It is written as the rate of a link: 5mbit, 1gbit.
type Rate float64

// Load reads a file of limits, which is a YAML list of rules. It refuses unknown keys and
// bad values, and names the line.
func Load(path string) ([]Rule, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist: name a file of limits (piecebench check --help shows one)", path)
	}
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// Parse reads the content of a file of limits. Its errors begin with name.
func Parse(name string, data []byte) ([]Rule, error) {
	rules, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return rules, nil
}

func parse(data []byte) ([]Rule, error) {
	var rules []Rule
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&rules); err != nil && !errors.Is(err, io.EOF) {
		return nil, oneLine(err)
	}
	if len(rules) == 0 {
		return nil, errors.New("it has no rule: write a list of rules, such as: - {target: gateway, success_rate: 99.9%}")
	}
	if !errors.Is(decoder.Decode(new(yaml.Node)), io.EOF) {
		return nil, errors.New("it has more than one YAML document: write one list of rules")
	}
	var nodes []yaml.Node
	if err := yaml.Unmarshal(data, &nodes); err != nil {
		return nil, oneLine(err)
	}
	for i := range rules {
		rules[i].line = nodes[i].Line
		if len(rules[i].limits())+len(rules[i].GoodputOver) == 0 {
			return nil, fmt.Errorf("line %d: this rule has no limit: success_rate, link_share, client_goodput, ttfb_p50, ttfb_p95, ttfb_p99, job_success_rate, job_p50, job_p90, job_p99 or goodput_over", rules[i].line)
		}
	}
	return rules, nil
}

var (
	goType  = regexp.MustCompile(` in type \S+`)
	goValue = regexp.MustCompile("cannot unmarshal !!(\\S+)(?: `[^`]*`)? into [^\\s;]+")
	// kinds name the kinds of YAML values.
	kinds = map[string]string{"map": "a mapping", "seq": "a list", "str": "text", "int": "a number", "float": "a number", "bool": "true or false"}
)

// oneLine returns an error of the YAML library as one line, without the names of Go types.
func oneLine(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n")
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n  ", "; ")
	text = goType.ReplaceAllString(text, " among a rule's keys")
	text = goValue.ReplaceAllStringFunc(text, func(found string) string {
		kind := goValue.FindStringSubmatch(found)[1]
		return cmp.Or(kinds[kind], kind) + " does not belong here (piecebench check --help shows a file)"
	})
	return errors.New(text)
}

// UnmarshalYAML reads a share.
func (s *Share) UnmarshalYAML(node *yaml.Node) error {
	v, err := number(node)
	if err != nil || v > 1 {
		return fmt.Errorf("line %d: %s is not a share: write one from 0%% to 100%%, such as 99.9%%", node.Line, node.Value)
	}
	*s = Share(v)
	return nil
}

// UnmarshalYAML reads a ratio.
func (r *Ratio) UnmarshalYAML(node *yaml.Node) error {
	v, err := number(node)
	if err != nil {
		return fmt.Errorf("line %d: %s is not a ratio: write one such as 0.95 or 95%%", node.Line, node.Value)
	}
	*r = Ratio(v)
	return nil
}

// UnmarshalYAML reads a rate.
func (r *Rate) UnmarshalYAML(node *yaml.Node) error {
	v, err := link.ParseRate(node.Value)
	if err != nil {
		return fmt.Errorf("line %d: %s is not a rate: write one such as 500kbit or 5mbit", node.Line, node.Value)
	}
	*r = Rate(v)
	return nil
}

func number(node *yaml.Node) (float64, error) {
	text, percent := strings.CutSuffix(node.Value, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err == nil && !(v >= 0) {
		err = strconv.ErrRange
	}
	if percent {
		v /= 100
	}
	return v, err
}

// UnmarshalYAML reads a time.
func (t *Time) UnmarshalYAML(node *yaml.Node) error {
	d, err := time.ParseDuration(node.Value)
	if err != nil || d <= 0 {
		return fmt.Errorf("line %d: %s is not a time: write one such as 200ms or 1.5s", node.Line, node.Value)
	}
	*t = Time(d)
	return nil
}

// Line is where the rule begins in its file, from 1.
func (r Rule) Line() int { return r.line }

// Selects tells whether the rule is for a target under these conditions, with whatever
// number of clients.
func (r Rule) Selects(target, link, mode string) bool {
	return selects(r.Target, target) && selects(r.Link, link) && selects(r.Mode, mode)
}

// selects reports whether a name matches one of the patterns.
func selects(patterns, name string) bool {
	if patterns == "" {
		return true
	}
	for _, p := range strings.Split(patterns, ",") {
		// path.Match would not let * match the / of a link.
		like := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(p)), `\*`, ".*")
		if regexp.MustCompile("^" + like + "$").MatchString(name) {
			return true
		}
	}
	return false
}
