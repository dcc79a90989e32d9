package dashboards_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"piecebench/dashboards"
	"piecebench/records"
)

// drawn is what a person sees of a panel beyond its queries.
type drawn struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	FieldConfig struct {
		Defaults struct {
			Unit    string `json:"unit"`
			NoValue string `json:"noValue"`
		} `json:"defaults"`
		Overrides []struct {
			Matcher    struct{ ID, Options string }
			Properties []struct {
				ID    string
				Value any
			}
		} `json:"overrides"`
	} `json:"fieldConfig"`
	Transformations []struct {
		ID      string `json:"id"`
		Options struct {
			RenameByName map[string]string `json:"renameByName"`
		} `json:"options"`
	} `json:"transformations"`
	Options map[string]any `json:"options"`
	Targets []query        `json:"targets"`
	Panels  []drawn        `json:"panels"`
}

type query struct {
	RefID        string `json:"refId"`
	LegendFormat string `json:"legendFormat"`
}

// each runs a subtest for every dashboard, with its panels as they are drawn
// and the whole file's text.
func each(t *testing.T, test func(t *testing.T, d dashboards.Dashboard, panels []drawn, text string)) {
	all, err := dashboards.Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 3 {
		t.Fatalf("%d dashboards, want 3", len(all))
	}
	for _, d := range all {
		data, err := os.ReadFile(filepath.Join("grafana", d.File))
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Panels []drawn }
		if err := json.Unmarshal(data, &file); err != nil {
			t.Fatal(err)
		}
		var panels []drawn
		for _, p := range file.Panels {
			panels = append(append(panels, p), p.Panels...)
		}
		t.Run(d.File, func(t *testing.T) { test(t, d, panels, string(data)) })
	}
}

func TestEveryPanelSaysWhatItShows(t *testing.T) {
	each(t, func(t *testing.T, _ dashboards.Dashboard, panels []drawn, _ string) {
		for _, p := range panels {
			if p.Title == "" {
				t.Errorf("panel %d has no title", p.ID)
			}
			if p.Type == "row" {
				continue
			}
			if len(p.Description) < 40 {
				t.Errorf("panel %d, %q: no description to speak of: %q", p.ID, p.Title, p.Description)
			}
			if p.FieldConfig.Defaults.Unit == "" {
				t.Errorf("panel %d, %q has no unit", p.ID, p.Title)
			}
			if len(p.Targets) == 0 {
				t.Errorf("panel %d, %q has no query", p.ID, p.Title)
			}
		}
	})
}

func TestUnitsFitTheirSeries(t *testing.T) {
	// By the unit at the end of a metric's name, where it is the last thing done.
	fits := map[string]string{"_bits_per_second": "bps", "_bytes": "decbytes", "_seconds": "s", "_ratio": "percentunit"}
	last := regexp.MustCompile(`^(?:\w+ (?:by \([^)]*\) )?\()?(?:last_over_time\()?([a-z_]+)\{?[^}]*\}?(?:\[\$__range\]\))?\)?$`)
	checked := 0
	each(t, func(t *testing.T, d dashboards.Dashboard, panels []drawn, _ string) {
		for i, p := range d.Panels {
			if len(p.Targets) > 1 && p.Type == "table" || p.Type == "stat" {
				continue // a unit for each column, in overrides
			}
			for _, target := range p.Targets {
				found := last.FindStringSubmatch(target.Expr)
				if found == nil {
					continue
				}
				for suffix, unit := range fits {
					if strings.HasSuffix(found[1], suffix) {
						checked++
						if got := panels[i].FieldConfig.Defaults.Unit; got != unit {
							t.Errorf("panel %d, %q shows %s with unit %q, want %q", p.ID, p.Title, found[1], got, unit)
						}
					}
				}
			}
		}
	})
	if checked == 0 {
		t.Error("no query was checked")
	}
}

func TestVariablesAreDefinedAndUsed(t *testing.T) {
	name := regexp.MustCompile(`\$\{?([a-zA-Z]\w*)`)
	each(t, func(t *testing.T, d dashboards.Dashboard, _ []drawn, text string) {
		defined := map[string]bool{}
		for _, v := range d.Templating.List {
			defined[v.Name] = true
		}
		for _, want := range []string{"run", "link", "mode"} {
			if !defined[want] {
				t.Errorf("no variable %s", want)
			}
		}
		used := map[string]bool{}
		for _, found := range name.FindAllStringSubmatch(text, -1) {
			used[found[1]] = true
			if !defined[found[1]] {
				t.Errorf("%s is not a variable", found[0])
			}
		}
		for v := range defined {
			if !used[v] {
				t.Errorf("variable %s is used by nothing", v)
			}
		}
		for _, p := range d.Panels {
			if p.Repeat != "" && !slices.ContainsFunc(d.Templating.List, func(v dashboards.Variable) bool { return v.Name == p.Repeat && v.Multi }) {
				t.Errorf("panel %d is repeated by %q, which is not a variable of several values", p.ID, p.Repeat)
			}
		}
	})
}

func TestAnyPrometheusCanBeChosen(t *testing.T) {
	var provisioned struct {
		Datasources []struct {
			Type     string
			JSONData struct {
				TimeInterval string `yaml:"timeInterval"`
			} `yaml:"jsonData"`
		}
	}
	readYAML(t, "grafana/provisioning/datasources/prometheus.yml", &provisioned)
	if len(provisioned.Datasources) != 1 {
		t.Fatalf("%d datasources provisioned, want 1", len(provisioned.Datasources))
	}
	// A uid of one Grafana would leave the dashboards empty in every other.
	want := dashboards.Datasource{Type: provisioned.Datasources[0].Type, UID: "${datasource}"}
	each(t, func(t *testing.T, d dashboards.Dashboard, _ []drawn, _ string) {
		check := func(where string, got dashboards.Datasource) {
			if got != want {
				t.Errorf("%s: datasource %+v, want %+v", where, got, want)
			}
		}
		if v := d.Templating.List[0]; v.Name != "datasource" || v.Type != "datasource" || string(v.Query) != want.Type {
			t.Errorf("the first variable is %+v, want one that offers the data sources", v)
		}
		for _, v := range d.Templating.List[1:] {
			check("variable "+v.Name, v.Datasource)
		}
		for _, a := range d.Annotations.List {
			if a.BuiltIn == 0 {
				check("annotation "+a.Name, a.Datasource)
			}
		}
		for _, p := range d.Panels {
			if p.Type == "row" {
				continue
			}
			check(fmt.Sprintf("panel %d", p.ID), p.Datasource)
			for _, target := range p.Targets {
				check(fmt.Sprintf("panel %d, query %s", p.ID, target.RefID), target.Datasource)
			}
		}
	})
	var scraping struct {
		Global struct {
			Interval string `yaml:"scrape_interval"`
		}
	}
	readYAML(t, "prometheus.yml", &scraping)
	if got := provisioned.Datasources[0].JSONData.TimeInterval; got != scraping.Global.Interval {
		t.Errorf("the datasource has timeInterval %s, Prometheus scrapes every %s", got, scraping.Global.Interval)
	}
}

// The uids are what the runner prints and the dashboards' links name.
func TestLinksLeadToDashboards(t *testing.T) {
	uids := []string{"piecebench-compare", "piecebench-lab", "piecebench-runs"}
	link := regexp.MustCompile(`"/d/([^"?/]*)`)
	var seen []string
	each(t, func(t *testing.T, d dashboards.Dashboard, _ []drawn, text string) {
		seen = append(seen, d.UID)
		reached := []string{d.UID}
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			reached = append(reached, found[1])
		}
		slices.Sort(reached)
		if got := slices.Compact(reached); !slices.Equal(got, uids) {
			t.Errorf("its uid and its links are %q, want %q", got, uids)
		}
	})
	if slices.Sort(seen); !slices.Equal(seen, uids) {
		t.Errorf("the uids are %q, want %q", seen, uids)
	}
}

// A transformation or override that names a column wrongly is passed over
// without a word.
func TestOverridesNameColumnsThatExist(t *testing.T) {
	each(t, func(t *testing.T, _ dashboards.Dashboard, panels []drawn, _ string) {
		for _, p := range panels {
			var columns []string
			for _, q := range p.Targets {
				columns = append(columns, q.LegendFormat)
			}
			for _, tr := range p.Transformations {
				for from, to := range tr.Options.RenameByName {
					columns = append(columns, to)
					ref, isValue := strings.CutPrefix(from, "Value #")
					if isValue && !slices.ContainsFunc(p.Targets, func(q query) bool { return q.RefID == ref }) {
						t.Errorf("panel %d, %q renames %q, and has no query %s", p.ID, p.Title, from, ref)
					}
				}
			}
			for _, o := range p.FieldConfig.Overrides {
				if o.Matcher.ID == "byName" && !slices.Contains(columns, o.Matcher.Options) && o.Matcher.Options != "run" {
					t.Errorf("panel %d, %q: an override is for %q, which none of its queries is named: %q", p.ID, p.Title, o.Matcher.Options, columns)
				}
			}
		}
	})
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// Leaving out the repetitions of which only a lower bound is known would leave out
// the slowest: a mean of the others is shown only where there is no such repetition.
func TestNoMeanLeavesOutItsBounds(t *testing.T) {
	each(t, func(t *testing.T, _ dashboards.Dashboard, _ []drawn, text string) {
		mean := regexp.MustCompile(`avg by \([^)]*\) \(last_over_time\([^)]*bound=\\"(exact|lower)\\"[^)]*\)\)( unless on \([^)]*\) last_over_time\([^)]*bound=\\"lower\\")?`)
		for _, found := range mean.FindAllStringSubmatch(text, -1) {
			if found[1] != "exact" || found[2] == "" {
				t.Errorf("a mean of some of the repetitions: %s", found[0])
			}
		}
	})
}

// Each of these options, when it was another, hid or falsified what a panel shows.
func TestOptionsThatMisledStayAsTheyAre(t *testing.T) {
	each(t, func(t *testing.T, d dashboards.Dashboard, panels []drawn, _ string) {
		for _, a := range d.Annotations.List {
			if a.BuiltIn == 0 && a.Enable {
				t.Errorf("annotation %s is on: from 24 cells on it hides the data", a.Name)
			}
		}
		colours := map[string]string{} // of a name, on this dashboard
		for _, p := range panels {
			what := fmt.Sprintf("panel %d, %q", p.ID, p.Title)
			if p.Type == "stat" && p.Options["wideLayout"] != false {
				t.Errorf("%s has wideLayout: a name stands beside the next one's number", what)
			}
			if p.Type == "stat" && p.Options["textMode"] != "value_and_name" {
				t.Errorf("%s: a single value loses its name", what)
			}
			if p.Type == "table" && p.FieldConfig.Defaults.NoValue != "-" {
				t.Errorf("%s says %q in each cell without a value", what, p.FieldConfig.Defaults.NoValue)
			}
			if p.Type == "heatmap" {
				axis, _ := p.Options["yAxis"].(map[string]any)
				if axis["min"] == nil || axis["max"] == nil {
					t.Errorf("%s: each target has an axis of its own", what)
				}
			}
			if p.Type == "trend" || p.Type == "timeseries" {
				widths := map[any]bool{}
				for _, o := range p.FieldConfig.Overrides {
					for _, property := range o.Properties {
						if property.ID == "custom.lineWidth" && (strings.Contains(o.Matcher.Options, "raw") || strings.Contains(o.Matcher.Options, "gateway")) {
							widths[property.Value] = true
						}
					}
				}
				if len(widths) == 1 {
					t.Errorf("%s: of two equal curves one hides the other", what)
				}
			}
			for _, o := range p.FieldConfig.Overrides {
				for _, property := range o.Properties {
					if property.ID != "color" || p.Type == "table" {
						continue
					}
					colour := fmt.Sprint(property.Value)
					if before, ok := colours[o.Matcher.Options]; ok && before != colour {
						t.Errorf("%s: %s has colour %s, and elsewhere %s", what, o.Matcher.Options, colour, before)
					}
					colours[o.Matcher.Options] = colour
				}
			}
		}
	})
}

// Without a colour of its own, an outcome gets the next of Grafana's, of which the first
// is green.
func TestNoFailureComesOutGreen(t *testing.T) {
	each(t, func(t *testing.T, _ dashboards.Dashboard, panels []drawn, _ string) {
		for _, p := range panels {
			if p.Title != "Requests by outcome" {
				continue
			}
			for _, outcome := range records.Outcomes {
				for _, target := range []string{"raw", "gateway"} {
					colour := ""
					for _, o := range p.FieldConfig.Overrides {
						if regexp.MustCompile(strings.Trim(o.Matcher.Options, "/")).MatchString(target + " " + string(outcome)) {
							colour = fmt.Sprint(o.Properties[0].Value)
						}
					}
					if colour == "" || strings.Contains(colour, "green") || outcome != records.OK && strings.Contains(colour, "blue") {
						t.Errorf("%s %s has colour %q", target, outcome, colour)
					}
				}
			}
		}
	})
}

// A screen of 1280 pixels shows about 1240 of a table.
func TestTheColumnsThatDecideFitOnAScreen(t *testing.T) {
	decides := map[string][]string{
		"Cells of this run":    {"goodput", "ratio", "TTFB p95", "limited by"},
		"Gateway / raw by row": {"goodput", "lowest", "highest", "TTFB p95"},
		"Runs":                 {"revision", "median", "worst", "settings", "cells"},
		"Run against baseline": {"goodput, change", "TTFB p95, change", "goodput"},
	}
	each(t, func(t *testing.T, _ dashboards.Dashboard, panels []drawn, _ string) {
		for _, p := range panels {
			if p.Type != "table" {
				continue
			}
			end, places := 0.0, map[string]float64{}
			for _, o := range p.FieldConfig.Overrides { // in the order of the columns
				for _, property := range o.Properties {
					if property.ID == "custom.width" {
						end += property.Value.(float64)
						places[o.Matcher.Options] = end
					}
				}
			}
			if len(decides[p.Title]) == 0 {
				t.Errorf("%q: which columns decide?", p.Title)
			}
			for _, name := range decides[p.Title] {
				if end, ok := places[name]; !ok || end > 1240 {
					t.Errorf("%q: column %q ends at %v pixels", p.Title, name, end)
				}
			}
		}
	})
}
