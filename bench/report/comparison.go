package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"piecebench/bench/compare"
	"piecebench/bench/result"
)

// comparison is how two sides stand to each other, in the order in which it is
// shown.
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
var verdicts = []compare.Verdict{compare.Worse, compare.Better, compare.NoDifference, compare.Unclear}

// headline counts what the comparison showed of goodput.
func (c comparison) headline() string {
	n := map[compare.Verdict]int{}
	for _, cell := range c.Cells {
		n[cell.Estimates[0].Verdict()]++
	}
	var parts []string
	for _, v := range verdicts {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%s in %d", v, n[v]))
		}
	}
	return fmt.Sprintf("%s. Goodput: %s of %s.", c.sides(), strings.Join(parts, ", "), count(len(c.Cells), "cell"))
}

// cautions say what a reader must know before using the figures.
func (c comparison) cautions() []caution {
	var all []caution
	add := func(kind, format string, args ...any) {
		all = append(all, caution{kind, fmt.Sprintf(format, args...)})
	}
	if n := len(c.Differences); n > 0 {
		add("not the same conditions", "%s in the machine, the settings or the links, listed first: the figures may differ for that.", count(n, "difference"))
	}
	for _, r := range slices.Compact([]*result.Run{c.A.Run, c.B.Run}) {
		if len(r.Cells) < r.Planned {
			add("incomplete", "%s has %d of %s.", r.ID, len(r.Cells), count(r.Planned, "planned cell"))
		}
	}
	single, shown := 0, 0
	var hidden []compare.Finding // the noisy ones
	for _, cell := range c.Cells {
		if cell.Estimates[0].Repetitions < 2 {
			single++
		}
		for _, e := range cell.Estimates {
			if e.Interval {
				shown++
			}
			if _, ok := e.Noisy(); ok {
				hidden = append(hidden, compare.Finding{Place: cell.Place, Estimate: e})
			}
		}
	}
	if single > 0 {
		add("no intervals", "%s with fewer than two repetitions on both sides: whether a difference there is more than noise is not known. Measure with REPEAT=5.", count(single, "cell"))
	}
	if len(hidden) > 0 {
		slices.SortStableFunc(hidden, func(x, y compare.Finding) int {
			hx, _ := x.Noisy()
			hy, _ := y.Noisy()
			return cmp.Compare(hy, hx)
		})
		h, _ := hidden[0].Noisy()
		add("noise", "%s in which the noise is larger than the difference and would hide one of more than %s, most in %s of %s (up to %s). A longer DURATION or a greater REPEAT shows more.",
			count(len(hidden), "figure"), wholePercent(compare.Wide), hidden[0].Metric.Name, c.place(hidden[0].Place), wholePercent(h))
	}
	if chance := float64(shown) * (1 - compare.Confidence); chance >= 1 {
		add("chance", "%d figures are compared with %s: between identical servers about %.0f of them would be marked better or worse.", shown, intervals+"s", chance)
	}
	return all
}

// place names a cell; within a comparison of two targets without them.
func (c comparison) place(p compare.Place) string {
	r := row{link: p.Link, mode: p.Mode, concurrency: p.Concurrency}
	if c.A.Target != "" {
		return r.place()
	}
	return p.Target + ", " + r.place()
}

// sections are the comparison's tables.
func (c comparison) sections() []section {
	var all []section
	if len(c.Differences) > 0 {
		t := table{head: []column{left("of"), left("name"), left("A"), left("B")}}
		for _, d := range c.Differences {
			t.rows = append(t.rows, []string{d.Of, d.Name, orMissing(d.A), orMissing(d.B)})
		}
		all = append(all, section{title: "What else differs", table: t})
	}
	all = append(all, section{title: "Summary", table: c.summary()})
	for i, m := range compare.Metrics {
		all = append(all, section{title: strings.ToUpper(m.Name[:1]) + m.Name[1:], table: c.metric(i), detail: i > 0})
	}
	for _, only := range []struct {
		side   string
		places []compare.Place
	}{{c.a, c.OnlyA}, {c.b, c.OnlyB}} {
		if len(only.places) == 0 {
			continue
		}
		t := table{head: []column{left("cell")}}
		for _, p := range only.places {
			t.rows = append(t.rows, []string{c.place(p)})
		}
		all = append(all, section{title: "Only in " + only.side, table: t, detail: true})
	}
	return all
}

func (c comparison) summary() table {
	t := table{head: []column{left("metric")}}
	for _, v := range verdicts {
		t.head = append(t.head, right(string(v)))
	}
	for i, m := range compare.Metrics {
		n := map[compare.Verdict]int{}
		for _, cell := range c.Cells {
			n[cell.Estimates[i].Verdict()]++
		}
		line := []string{m.Name}
		for _, v := range verdicts {
			line = append(line, strconv.Itoa(n[v]))
		}
		t.rows = append(t.rows, line)
	}
	return t
}

// metric is the table of one of compare.Metrics, a row a cell.
func (c comparison) metric(i int) table {
	m := compare.Metrics[i]
	operator := " / "
	if m.IsDifference() {
		operator = " - "
	}
	t := table{head: []column{left("link"), left("mode"), right("clients")}}
	if c.A.Target == "" {
		t.head = append(t.head, left("target"))
	}
	t.head = append(t.head, right(c.a), right(c.b), right(c.b+operator+c.a), right(intervals), right("pairs"), left("verdict"))
	for _, cell := range c.Cells {
		e := cell.Estimates[i]
		line := []string{linkName(cell.Link), cell.Mode, strconv.Itoa(cell.Concurrency)}
		if c.A.Target == "" {
			line = append(line, cell.Target)
		}
		t.rows = append(t.rows, append(line, figure(m, e.A), figure(m, e.B), change(e), interval(e), strconv.Itoa(e.Repetitions), string(e.Verdict())))
	}
	return t
}

// figure writes a metric's value with its unit.
func figure(m compare.Metric, f compare.Figure) string {
	text := ""
	switch {
	case f == compare.Figure{} && !m.IsDifference():
		return missing
	case m.IsDifference():
		text = percent(f.Value)
	case m.Unit == "ms":
		text = duration(f.Value)
	default:
		text = threeDigits(f.Value) + " " + m.Unit
	}
	if f.Bound {
		text = "> " + text
	}
	return text
}

// change writes how far B is from A, or a bound of it.
func change(e compare.Estimate) string {
	text := scale(e, e.Change)
	switch {
	case !e.Known:
		return missing
	case e.AtLeast:
		return "> " + text
	case e.AtMost:
		return "< " + text
	}
	return text
}

// interval writes the interval of change, which may be open at one end.
func interval(e compare.Estimate) string {
	switch {
	case !e.Interval:
		return missing
	case e.AtLeast:
		return "> " + scale(e, e.Low)
	case e.AtMost:
		return "< " + scale(e, e.High)
	}
	return strings.TrimSuffix(scale(e, e.Low), points) + " to " + scale(e, e.High)
}

const points = " points"

// scale writes a change as a ratio, or as a difference in percentage points.
func scale(e compare.Estimate, change float64) string {
	switch {
	case e.Metric.IsDifference():
		return fmt.Sprintf("%+.2f", 100*change) + points
	case change < 9:
		return strconv.FormatFloat(1+change, 'f', 3, 64)
	}
	return threeDigits(1 + change)
}

// Regressions says in one line which figures are worse, the first few by name.
func Regressions(c *compare.Comparison, found []compare.Finding) string {
	var names []string
	for _, r := range found[:min(len(found), maxNamed)] {
		names = append(names, fmt.Sprintf("%s, %s: %s (%s)", r.Metric.Name, newComparison(c).place(r.Place), change(r.Estimate), interval(r.Estimate)))
	}
	if n := len(found) - maxNamed; n > 0 {
		names = append(names, fmt.Sprintf("and %d more", n))
	}
	return printable(strings.Join(names, "; "))
}
