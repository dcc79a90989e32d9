package report

// Colours of the targets, in their order: blue, orange, green, purple and
// yellow that colour-blind readers can tell apart (after Okabe and Ito), a
// lighter set for dark pages.
var (
	lightColours = []string{"#0a6cb0", "#d9560b", "#0a8f68", "#a8508c", "#a27a00", "#5a6472"}
	darkColours  = []string{"#5cb3f0", "#ff9a57", "#3fcf9f", "#e39ac6", "#e5c04a", "#a9b3c1"}
)

// theme is an ECharts theme: colours and type only, the same for all charts.
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
		"legend": option{"textStyle": option{"color": ink}},
		"tooltip": option{"backgroundColor": paper, "borderColor": faint,
			"textStyle": option{"color": ink, "fontSize": 13}},
	}
}

var themes = map[string]option{
	"light": theme(lightColours, "#3a4250", "#dde1e7", "#ffffff"),
	"dark":  theme(darkColours, "#c3cad5", "#353c47", "#20252d"),
}
