package page

import (
	"fmt"
	"html/template"
	"strings"
)

// option is a part of an ECharts option tree (echarts.apache.org/en/option.html). All text of
// a chart is made here; the page's script only places it.
type option = map[string]any

// Colours of the targets, in their order, that colour-blind readers can tell apart (after
// Okabe and Ito). The second set is for dark pages.
var (
	lightColours = []string{"#0a6cb0", "#d9560b", "#0a8f68", "#a8508c", "#a27a00", "#5a6472"}
	darkColours  = []string{"#5cb3f0", "#ff9a57", "#3fcf9f", "#e39ac6", "#e5c04a", "#a9b3c1"}
)

// mark is a symbol of ECharts, and a character that looks like it.
type mark struct {
	symbol string
	rotate int // degrees
	glyph  string
}

// targetMarks distinguish the targets without colours. An upright triangle is not among them: it
// marks a bound.
var targetMarks = []mark{
	{"circle", 0, "●"}, {"diamond", 0, "◆"}, {"rect", 0, "■"}, {"triangle", 180, "▼"},
	{"path://M0,-10L3,-3L10,-3L4,2L6,10L0,5L-6,10L-4,2L-10,-3L-3,-3Z", 0, "★"}, {"roundRect", 0, "▬"},
}

func markOf(target int) mark { return targetMarks[target%len(targetMarks)] }

// levelColour is that of the ceiling's line.
const levelColour = "#8a8f98"

// colours returns style sheet variables --t0, --t1, ... for the targets.
func colours(all []string) template.CSS {
	var b strings.Builder
	for i, c := range all {
		fmt.Fprintf(&b, "--t%d: %s; ", i, c)
	}
	return template.CSS(b.String())
}

// theme is an ECharts theme: colours and type, the same for all charts.
func theme(colours []string, ink, faint, paper string) option {
	axis := option{
		"axisLine":       option{"lineStyle": option{"color": faint}},
		"axisTick":       option{"lineStyle": option{"color": faint}},
		"axisLabel":      option{"color": ink},
		"splitLine":      option{"lineStyle": option{"color": faint}},
		"minorSplitLine": option{"show": false},
		"nameTextStyle":  option{"color": ink},
	}
	return option{
		"color": colours, "backgroundColor": "transparent",
		"textStyle": option{"color": ink, "fontFamily": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"},
		"valueAxis": axis, "logAxis": axis, "categoryAxis": axis,
		"bar":     option{"label": option{"color": ink, "fontSize": 11}},
		"legend":  option{"textStyle": option{"color": ink}},
		"toolbox": option{"iconStyle": option{"borderColor": ink}},
		"tooltip": option{"backgroundColor": paper, "borderColor": faint,
			"textStyle": option{"color": ink, "fontSize": 13}},
	}
}

var themes = map[string]option{
	"light": theme(lightColours, "#3a4250", "#dde1e7", "#ffffff"),
	"dark":  theme(darkColours, "#c3cad5", "#353c47", "#20252d"),
}
