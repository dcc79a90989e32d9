package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"

	"github.com/grafana/sobek"

	"piecebench/bench/result"
)

// The picture's measures, in pixels.
const (
	plotWidth, plotHeight = 460, 250
	plotTitle             = 30
	plotMargin            = 14
)

// Picture returns the goodput charts of a run's first measured link as one
// SVG, for a README or a slide: the page's charts, drawn by the same library.
func Picture(run *result.Run) ([]byte, error) {
	v := newView(run)
	for _, l := range v.links {
		if len(l.rows) == 0 {
			continue
		}
		var goodput []chart
		var titles []string
		for _, m := range l.modes() {
			c := v.goodputChart(l, m)
			goodput = append(goodput, c)
			titles = append(titles, fmt.Sprintf("Goodput over %s: %s", linkName(l.name), c.Title))
		}
		plots, err := drawSVG(goodput)
		if err != nil {
			return nil, err
		}
		return arrange(plots, titles), nil
	}
	return nil, errors.New("this run has no cell to draw")
}

// drawSVG runs ECharts in a JavaScript interpreter: it can draw without a browser.
func drawSVG(charts []chart) ([]string, error) {
	library, err := asset("assets/echarts.min.js")
	if err != nil {
		return nil, err
	}
	if library == nil {
		return nil, errors.New("this build has no chart library, so it draws no picture: install npm and build again")
	}
	options, err := pageFiles.ReadFile("page/options.js")
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(option{"charts": charts, "theme": themes["light"], "width": plotWidth, "height": plotHeight})
	if err != nil {
		return nil, err
	}
	vm := sobek.New()
	for _, source := range []string{
		"var setTimeout = () => 0, clearTimeout = () => {};", // nothing here waits
		string(library), string(options), "const data = " + string(data) + ";",
	} {
		if _, err := vm.RunString(source); err != nil {
			return nil, fmt.Errorf("charts: %w", err)
		}
	}
	drawn, err := vm.RunString(`data.charts.map(({ option }) => {
		const chart = echarts.init(null, data.theme, { renderer: "svg", ssr: true, width: data.width, height: data.height });
		chart.setOption(complete({ legend, ...option }));
		return chart.renderToSVGString();
	})`)
	if err != nil {
		return nil, fmt.Errorf("charts: %w", err)
	}
	var plots []string
	return plots, vm.ExportTo(drawn, &plots)
}

// arrange puts plots under their titles, in two columns, on white: the
// picture is shown on pages of any colour.
func arrange(plots, titles []string) []byte {
	columns := min(2, len(plots))
	rows := (len(plots) + columns - 1) / columns
	width := columns*(plotWidth+plotMargin) + plotMargin
	height := rows*(plotTitle+plotHeight+plotMargin) + plotMargin
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="#fff"/>`+"\n", width, height)
	for i, plot := range plots {
		x := plotMargin + i%columns*(plotWidth+plotMargin)
		y := plotMargin + i/columns*(plotTitle+plotHeight+plotMargin)
		fmt.Fprintf(&b, `<text x="%d" y="%d" font-family="system-ui, sans-serif" font-size="14" font-weight="600" fill="#1b2230">%s</text>`+"\n",
			x, y+18, html.EscapeString(printable(titles[i])))
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">%s</g>`+"\n", x, y+plotTitle, plot)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
