// Package page writes reports as HTML pages that need no network.
package page

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"slices"
	"strconv"

	"piecebench/bench/result"
	"piecebench/report"
)

//go:generate assets/fetch

// assets holds ECharts, if this build has it: it is not kept in the repository.
//
//go:embed assets
var assets embed.FS

//go:embed site
var site embed.FS

// templates are the pages, by file name, and the parts that they share.
var templates = template.Must(template.New("").Funcs(template.FuncMap{"key": key, "table": newTable, "style": style}).ParseFS(site, "site/*.html"))

// scripts make the page work, in this order.
var scripts = []string{"site/options.js", "site/charts.js", "site/explorer.js", "site/choices.js"}

// runPage is what run.html shows.
type runPage struct {
	report.Document
	Started     string
	Maps        []report.TargetMaps
	Limited     []report.Limits
	Targets     []target
	Views       []view
	Links       []link
	WarmupNote  string       // empty where nothing carries its mark
	Light, Dark template.CSS // variables
	Script      template.JS
	Library     template.JS // ECharts; empty where this build lacks it
	Charts      []chart
	Explorer    explorer
	Themes      map[string]option
}

type target struct{ Name, Glyph string }

// Run returns the report of the run in dir.
func Run(dir string, run *result.Run) ([]byte, error) {
	library, err := Library()
	if err != nil {
		return nil, err
	}
	v := report.NewView(run)
	v.ReadDetails(dir)
	p := runPage{
		Document: report.Document{Title: run.ID, Cautions: v.Cautions(), Terms: append(v.Terms(), report.PhasesTerm)},
		Started:  run.Started.UTC().Format(report.TimeFormat), Maps: v.Heatmaps(), Limited: v.Limited(), Views: views(v),
		Light: colours(lightColours), Dark: colours(darkColours), Library: template.JS(library), Themes: themes, Explorer: newExplorer(v),
	}
	p.Headline, p.More = v.Answer()
	for _, name := range scripts {
		script, err := site.ReadFile(name)
		if err != nil {
			return nil, err
		}
		p.Script += template.JS(script)
	}
	for t, name := range v.Targets {
		p.Targets = append(p.Targets, target{name, markOf(t).glyph})
	}
	for _, l := range v.Links {
		p.Links = append(p.Links, newLink(v, l, p.Views, &p.Charts))
	}
	for _, f := range report.All(v.Rows) {
		if f.WarmupQuantiles {
			p.WarmupNote = report.WarmupNote
		}
	}
	p.Sections = append(slices.Concat(v.Capacity(), v.Costs(), v.Background()),
		report.Section{Title: "What limited each row", Table: report.Bottlenecks(v.Rows), Fold: true})
	return execute("run.html", p)
}

// Document returns a page of sentences and tables, in the look of a run's report.
func Document(d report.Document) ([]byte, error) { return execute("document.html", d) }

func execute(name string, data any) ([]byte, error) {
	var buf bytes.Buffer
	if err := templates.ExecuteTemplate(&buf, name, data); err != nil {
		return nil, fmt.Errorf("report as HTML: %w", err)
	}
	return buf.Bytes(), nil
}

// Library returns ECharts, or nothing where this build lacks it.
func Library() ([]byte, error) {
	data, err := assets.ReadFile("assets/echarts.min.js")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

func style() (template.CSS, error) {
	css, err := site.ReadFile("site/page.css")
	return template.CSS(css), err
}

// key names a row in the page's address, after the #.
func key(r *report.Row) template.URL {
	return template.URL(url.Values{"link": {r.Link}, "mode": {r.Mode}, "clients": {strconv.Itoa(r.Concurrency)}}.Encode())
}
