// Package comparison says how two runs, or two targets of one run, compare.
package comparison

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"piecebench/bench/compare"
	"piecebench/bench/readable"
	"piecebench/bench/result"
	"piecebench/bench/stats"
	"piecebench/report"
)

// comparison is a comparison with the names of its sides.
type comparison struct {
	*compare.Comparison
	a, b string // what the tables call the sides
}

func newComparison(c *compare.Comparison) comparison {
	if c.A.Run == c.B.Run {
		return comparison{c, c.A.Target, c.B.Target}
	}
	return comparison{c, "A", "B"}
}

// Document says how two runs, or two targets of one, compare.
func Document(compared *compare.Comparison) report.Document {
	c := newComparison(compared)
	return report.Document{Title: "compare: " + c.sides(), Headline: c.headline(), Cautions: c.cautions(), Sections: c.sections(), Terms: terms,
		Elsewhere: "the comparison as text and HTML"}
}

// sides says what A and B are.
func (c comparison) sides() string {
	if c.A.Run == c.B.Run {
		return fmt.Sprintf("%s against %s in %s", c.b, c.a, c.A.Run.ID)
	}
	name := func(s compare.Side) string {
		if s.Target == "" {
			return s.Run.ID
		}
		return s.Target + " of " + s.Run.ID
	}
	return fmt.Sprintf("B %s against A %s", name(c.B), name(c.A))
}

// verdicts in the order in which they are counted.
var verdicts = []compare.Verdict{compare.Worse, compare.Better, compare.NoDifference, compare.Unclear, compare.NotJudged}

// headline counts what the comparison shows of the first metric: goodput, or job time.
func (c comparison) headline() string {
	n := c.counts(0)
	var parts []string
	for _, v := range verdicts {
		if n[v] > 0 {
			name := string(v)
			if v == compare.NoDifference {
				name += " beyond " + readable.WholePercent(c.Margin)
			}
			parts = append(parts, fmt.Sprintf("%s in %d", name, n[v]))
		}
	}
	capacity := ""
	if pairs := c.Capacities(); pairs != nil {
		capacity = " Capacity: " + c.capacityVerdicts(pairs) + "."
	}
	if len(c.Rows) == 0 {
		return c.sides() + "." + capacity
	}
	return fmt.Sprintf("%s.%s %s: %s of %s.", c.sides(), capacity, title(c.Metrics[0]), strings.Join(parts, ", "), readable.Count(len(c.Rows), "row"))
}

// cautions say what a reader must know before using the figures.
func (c comparison) cautions() []report.Caution {
	var all []report.Caution
	add := func(kind, format string, args ...any) {
		all = append(all, report.Caution{Kind: kind, Text: fmt.Sprintf(format, args...)})
	}
	if n := len(c.Differences); n > 0 {
		add("not the same conditions", "%s in the machine, the settings or the links, listed first: they may be why figures differ.", readable.Count(n, "difference"))
	}
	for _, r := range slices.Compact([]*result.Run{c.A.Run, c.B.Run}) {
		if len(r.Cells) < r.Planned {
			add("incomplete", "%s has %d of %s.", r.ID, len(r.Cells), readable.Count(r.Planned, "planned cell"))
		}
	}
	few, most, shown, machine, older := 0, 0, 0, 0, 0
	var hidden []compare.Finding // the noisy ones
	for _, row := range c.Rows {
		if n := row.Estimates[0].Repetitions; n < stats.LeastForInterval {
			few++
			most = max(most, n)
		}
		if !row.Estimates[0].Judged() {
			machine++
		}
		if row.CountsFailed() {
			older++
		}
		for _, e := range row.Estimates {
			if e.Interval {
				shown++
			}
			if _, ok := e.Noisy(c.Margin); ok {
				hidden = append(hidden, compare.Finding{Place: row.Place, Estimate: e})
			}
		}
	}
	if gaps := c.Gaps(); gaps != nil {
		add("missing", "%s: %s.", readable.Count(len(gaps), "gap"), c.gaps(gaps))
	}
	if few > 0 && c.Capacities() == nil {
		add("no intervals", "%s with fewer than three repetitions on both sides. %s, so a difference there may be noise. Measure with REPEAT=5.", readable.Count(few, "row"), report.NoInterval(max(1, most)))
	}
	if machine > 0 {
		add("limited by the machine", "%s in which the host, the generator or the emulated link limited a side, so that goodput, TTFB and durations are not judged. "+
			"TTFB and durations are not judged either where the emulated delay was late.", readable.Count(machine, "row"))
	}
	if older > 0 {
		add("older run", "%s in which the goodput of a side includes the bytes of failed requests, as an older piecebench counted them.", readable.Count(older, "row"))
	}
	if len(hidden) > 0 {
		slices.SortStableFunc(hidden, func(x, y compare.Finding) int {
			hx, _ := x.Noisy(c.Margin)
			hy, _ := y.Noisy(c.Margin)
			return cmp.Compare(hy, hx)
		})
		h, _ := hidden[0].Noisy(c.Margin)
		add("noise", "In %s the noise is larger than the difference and could hide one of more than %s, most in %s of %s (%s). A longer DURATION or a greater REPEAT shows more.",
			readable.Count(len(hidden), "figure"), readable.WholePercent(c.Margin), hidden[0].Metric.Name, c.place(hidden[0].Place), report.Hidden(h))
	}
	if chance := float64(shown) * (1 - compare.Confidence); chance >= 1 {
		add("chance", "%d figures are compared with %s: of identical servers, about %.0f would be marked better or worse.", shown, report.Intervals+"s", chance)
	}
	return all
}

// place names a row, with its target where there are several.
func (c comparison) place(p compare.Place) string {
	if c.A.Target != "" {
		return p.Conditions.String()
	}
	return p.String()
}

// sections are the comparison's tables.
func (c comparison) sections() (all []report.Section) {
	if len(c.Differences) > 0 {
		t := report.Table{Head: []report.Column{report.Left("of"), report.Left("name"), report.Left("A"), report.Left("B")}}
		for _, d := range c.Differences {
			t.Add(d.Of, d.Name, report.OrMissing(d.A), report.OrMissing(d.B))
		}
		all = append(all, report.Section{Title: "What else differs", Table: t})
	}
	if pairs := c.Capacities(); pairs != nil {
		all = append(all, c.capacities(pairs))
	}
	if len(c.Rows) == 0 {
		return all
	}
	all = append(all, report.Section{Title: "Summary", Table: c.summary()})
	for i, m := range c.Metrics {
		all = append(all, report.Section{Title: title(m), Table: c.metric(i), Fold: i > 0})
	}
	for _, only := range []struct {
		side   string
		places []compare.Place
	}{{c.a, c.OnlyA}, {c.b, c.OnlyB}} {
		t := report.Table{Head: []report.Column{report.Left("row")}}
		for _, p := range only.places {
			t.Add(c.place(p))
		}
		if len(only.places) > 0 {
			all = append(all, report.Section{Title: "Only in " + only.side, Table: t, Fold: true})
		}
	}
	return all
}

func title(m compare.Metric) string { return strings.ToUpper(m.Name[:1]) + m.Name[1:] }

// counts returns how many rows have each verdict in one of c.Metrics.
func (c comparison) counts(metric int) map[compare.Verdict]int {
	n := map[compare.Verdict]int{}
	for _, row := range c.Rows {
		n[row.Estimates[metric].Verdict(c.Margin)]++
	}
	return n
}

func (c comparison) summary() report.Table {
	t := report.Table{Head: []report.Column{report.Left("metric")}}
	for _, v := range verdicts {
		t.Head = append(t.Head, report.Right(string(v)))
	}
	for i, m := range c.Metrics {
		n := c.counts(i)
		line := []string{m.Name}
		for _, v := range verdicts {
			line = append(line, strconv.Itoa(n[v]))
		}
		t.Add(line...)
	}
	return t
}

// metric is the table of one of c.Metrics.
func (c comparison) metric(i int) report.Table {
	m := c.Metrics[i]
	operator := " / "
	if m.IsDifference() {
		operator = " - "
	}
	target := func(name string) []string {
		if c.A.Target != "" {
			return nil // the columns are the targets
		}
		return []string{name}
	}
	t := report.Table{Head: []report.Column{report.Left("link"), report.Left("mode"), report.Right("clients")}, Groups: 2}
	for _, name := range target("target") {
		t.Head = append(t.Head, report.Left(name))
	}
	t.Head = append(t.Head, report.Right(c.a), report.Right(c.b), report.Right(c.b+operator+c.a), report.Right(report.Intervals), report.Right("pairs"), report.Left("verdict"))
	for _, row := range c.Rows {
		e := row.Estimates[i]
		line := append([]string{result.LinkName(row.Link), row.Mode, strconv.Itoa(row.Concurrency)}, target(row.Target)...)
		t.Add(append(line, figure(m, e.A), figure(m, e.B), change(e), interval(e), strconv.Itoa(e.Repetitions), string(e.Verdict(c.Margin)))...)
	}
	return t
}
