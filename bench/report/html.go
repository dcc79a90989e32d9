package report

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"

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

// document is what page.html shows.
type document struct {
	Title      string
	Run        *result.Run
	Started    string
	Headline   string
	More       []string
	Cautions   []htmlCaution
	Heatmaps   []heatmap
	Links      []htmlLink
	Appendix   []htmlSection
	Terms      []term
	WarmupNote string

	Style   template.CSS
	Script  template.JS
	Library template.JS // ECharts; empty where this build lacks it
	Charts  []chart
	Themes  map[string]option
}

type htmlCaution struct{ Kind, Text string }

type htmlLink struct {
	ID, Title, Detail string
	Panels            []panel
	GoodputTitle      string
	Goodput, Requests htmlTable
	Ceiling           bool
	WarmupMark        bool
}

type htmlSection struct {
	Title string
	Table htmlTable
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
// what it rests on, if anything.
type htmlCell struct {
	Text, Title string
	Right, Same bool
	Class       string // of the style sheet, if any
}

// HTML returns the report as one page that needs no network.
func HTML(run *result.Run) ([]byte, error) {
	library, err := asset("assets/echarts.min.js")
	if err != nil {
		return nil, err
	}
	style, err := pageFiles.ReadFile("page/page.css")
	if err != nil {
		return nil, err
	}
	options, err := pageFiles.ReadFile("page/options.js")
	if err != nil {
		return nil, err
	}
	script, err := pageFiles.ReadFile("page/page.js")
	if err != nil {
		return nil, err
	}
	v := newView(run)
	d := document{
		Title: run.ID, Run: run, Started: run.Started.UTC().Format(timeFormat), Heatmaps: v.heatmaps(), Terms: v.terms(), WarmupNote: warmupNote,
		Style: template.CSS(style), Script: template.JS(append(options, script...)), Library: template.JS(library), Themes: themes,
	}
	d.Headline, d.More = v.answer()
	for _, c := range v.cautions() {
		d.Cautions = append(d.Cautions, htmlCaution{c.kind, c.text})
	}
	for i, l := range v.links {
		h := htmlLink{ID: fmt.Sprintf("link-%d", i+1), Panels: v.panels(l, &d.Charts), Ceiling: l.hasCeiling(), WarmupMark: l.hasWarmupMark(), GoodputTitle: l.goodputTitle()}
		h.Title, h.Detail = l.heading()
		h.Goodput, h.Requests = v.goodput(l).html(1), v.requests(l).html(2)
		d.Links = append(d.Links, h)
	}
	for _, s := range v.appendix() {
		d.Appendix = append(d.Appendix, htmlSection{s.title, s.table.html(0)})
	}
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
