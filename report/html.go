package report

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"slices"

	"piecebench/bench/result"
)

//go:generate assets/fetch

// assets holds ECharts, if this build has it: it is not kept in the repository.
//
//go:embed assets
var assets embed.FS

//go:embed page
var pageFiles embed.FS

// pages are the whole pages, by file name, and the parts that they share.
var pages = template.Must(template.ParseFS(pageFiles, "page/*.html"))

// scripts make the page work, in this order. Options are also the picture's.
var scripts = []string{"page/options.js", "page/charts.js", "page/explorer.js", "page/choices.js"}

// document is what page.html shows.
type document struct {
	Title    string
	Run      *result.Run
	Started  string
	Headline string
	More     []string
	Cautions []htmlCaution
	Maps     []targetMaps
	Limited  []limits
	Targets  []htmlTarget
	Views    []htmlView
	Links    []htmlLink
	Appendix []htmlSection
	Terms    []term

	WarmupNote  string       // empty where nothing carries its mark
	Light, Dark template.CSS // variables
	Style       template.CSS
	Script      template.JS
	Library     template.JS // ECharts; empty where this build lacks it
	Charts      []chart
	Explorer    explorer
	Themes      map[string]option
}

type htmlCaution struct{ Kind, Text string }

type htmlTarget struct{ Name, Glyph string }

type htmlSection struct {
	Title string
	Table htmlTable
	Fold  bool // long, and closed at first
}

type htmlTable struct {
	Head []htmlColumn
	Rows [][]htmlCell
}

type htmlColumn struct {
	Name  string
	Right bool
}

// htmlCell is a table's cell. Same marks what repeats the row above, Title is
// what it rests on, if anything, Key the cell that it leads to.
type htmlCell struct {
	Text, Title string
	Key         template.URL
	Right, Same bool
	Class       string // of the style sheet, if any
}

// HTML returns the report of the run in dir as one page that needs no network.
func HTML(dir string, run *result.Run) ([]byte, error) {
	library, err := asset("assets/echarts.min.js")
	if err != nil {
		return nil, err
	}
	style, err := pageFiles.ReadFile("page/page.css")
	if err != nil {
		return nil, err
	}
	script, err := readScripts(scripts...)
	if err != nil {
		return nil, err
	}
	v := newView(run)
	v.readDetails(dir)
	d := document{
		Title: run.ID, Run: run, Started: run.Started.UTC().Format(timeFormat), Maps: v.heatmaps(), Limited: v.limited(), Terms: append(slices.Clone(v.terms()), phasesTerm),
		Light: colours(lightColours), Dark: colours(darkColours),
		Style: template.CSS(style), Script: template.JS(script), Library: template.JS(library), Themes: themes, Explorer: v.explorer(),
	}
	d.Headline, d.More = v.answer()
	for _, c := range v.cautions() {
		d.Cautions = append(d.Cautions, htmlCaution{c.kind, c.text})
	}
	for t, name := range v.targets {
		d.Targets = append(d.Targets, htmlTarget{name, targetMarks[t%len(targetMarks)].glyph})
	}
	d.Views = v.views()
	for _, l := range v.links {
		d.Links = append(d.Links, v.htmlLink(l, &d.Charts))
		if l.hasWarmupMark() {
			d.WarmupNote = warmupNote
		}
	}
	for _, s := range v.appendix() {
		d.Appendix = append(d.Appendix, htmlSection{Title: s.title, Table: s.table.html(0), Fold: s.detail})
	}
	d.Appendix = append(d.Appendix, htmlSection{Title: "What decided in each cell", Table: v.verdicts().html(3), Fold: true})
	var buf bytes.Buffer
	if err := pages.ExecuteTemplate(&buf, "page.html", d); err != nil {
		return nil, fmt.Errorf("report.html: %w", err)
	}
	return buf.Bytes(), nil
}

// asset returns an embedded file, or nothing where this build lacks it.
func asset(name string) ([]byte, error) {
	data, err := assets.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

func readScripts(names ...string) (all []byte, err error) {
	for _, name := range names {
		script, err := pageFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, script...)
	}
	return all, nil
}

// html turns the table over to the page; in the first groups columns, a cell
// that repeats the row above is marked.
func (t table) html(groups int) htmlTable {
	var h htmlTable
	for _, c := range t.head {
		h.Head = append(h.Head, htmlColumn{c.name, c.right})
	}
	for n, row := range t.rows {
		cells := make([]htmlCell, len(row))
		same := n > 0
		for i, text := range row {
			same = same && i < groups && text == t.rows[n-1][i]
			cells[i] = htmlCell{Text: text, Right: t.head[i].right, Same: same}
		}
		if t.why != nil {
			cells[len(cells)-1].Title = t.why[n]
		}
		h.Rows = append(h.Rows, cells)
	}
	return h
}
