package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"piecebench/bench/result"
)

// NoCell is said of a link without rows.
const NoCell = "No cell of this link was measured."

// Heading names a link, and its calibration in short.
func (l *Link) Heading() (title, detail string) {
	title = result.LinkName(l.Name)
	c := l.Calibration
	if c == nil {
		return title, ""
	}
	detail = fmt.Sprintf("RTT %.1f ms, measured ceiling %s Mbit/s", c.IdleRTTMs, megabits(float64(c.CeilingBits)))
	if c.ExpectedBits > 0 {
		detail += " of " + megabits(float64(c.ExpectedBits))
	}
	if c.HostLimited {
		detail += ", host-limited"
	}
	return title, detail
}

// Background is what the figures rest on. Empty tables are left out.
func (v *View) Background() []Section {
	return slices.DeleteFunc([]Section{
		{Title: "Calibration", Table: v.calibrations()},
		{Title: "Settings", Table: pairs("variable", v.Run.Settings)},
		{Title: "Machine", Table: v.machine()},
	}, func(s Section) bool { return len(s.Table.Lines) == 0 })
}

func (v *View) calibrations() Table {
	t := Table{Head: []Column{Left("link"), Left("delay and rate by"), Right("delay asked"), Right("RTT"), Right("allowed Mbit/s"),
		Right("unshaped Mbit/s"), Right("through the link Mbit/s"), Right("ceiling Mbit/s"), Left("verdict")}}
	for _, c := range v.Run.Calibrations {
		verdict := "as asked"
		if c.HostLimited {
			verdict = "host-limited"
		}
		if len(c.Notes) > 0 {
			verdict += ": " + strings.TrimPrefix(strings.Join(c.Notes, "; "), verdict+": ")
		}
		unshaped := 0.0
		for _, m := range c.Unshaped {
			unshaped = max(unshaped, float64(m.GoodputBits))
		}
		var through []string
		for _, m := range c.Through {
			through = append(through, fmt.Sprintf("%s (%s)", megabits(float64(m.GoodputBits)), count(m.Streams, "stream")))
		}
		expected := Missing
		if c.ExpectedBits > 0 {
			expected = megabits(float64(c.ExpectedBits))
		}
		t.Add(c.Link, OrMissing(c.Backend), duration(c.AskedDelayMs), fmt.Sprintf("%.2f ms", c.IdleRTTMs), expected,
			megabits(unshaped), cmp.Or(strings.Join(through, ", "), Missing), megabits(float64(c.CeilingBits)), verdict)
	}
	return t
}

// machine shows the fingerprint, and when the run took place.
func (v *View) machine() Table {
	fingerprint := map[string]string{"piecebench": v.Run.Piecebench}
	maps.Copy(fingerprint, v.Run.Fingerprint)
	t := pairs("property", fingerprint)
	finished := "no"
	if v.Run.Finished != nil {
		finished = v.Run.Finished.UTC().Format(TimeFormat)
	}
	t.Lines = append([]Line{
		{Cells: []string{"started", v.Run.Started.UTC().Format(TimeFormat)}},
		{Cells: []string{"finished", finished}},
	}, t.Lines...)
	return t
}

// TimeFormat is how reports write a time in UTC.
const TimeFormat = "2006-01-02 15:04:05 UTC"

// pairs shows a map, sorted by name.
func pairs(name string, m map[string]string) Table {
	t := Table{Head: []Column{Left(name), Left("value")}}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		t.Add(k, m[k])
	}
	return t
}
