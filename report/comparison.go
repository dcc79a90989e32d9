package report

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
var verdicts = []compare.Verdict{compare.Worse, compare.Better, compare.NoDifference, compare.Unclear, compare.NotJudged}

// headline counts what the comparison showed of goodput.
func (c comparison) headline() string {
	n := map[compare.Verdict]int{}
	for _, cell := range c.Cells {
		n[cell.Estimates[0].Verdict(c.Margin)]++
	}
	var parts []string
	for _, v := range verdicts {
		if n[v] > 0 {
			name := string(v)
			if v == compare.NoDifference {
				name += " beyond " + wholePercent(c.Margin)
			}
			parts = append(parts, fmt.Sprintf("%s in %d", name, n[v]))
		}
	}
	return fmt.Sprintf("%s. Goodput: %s of %s.", c.sides(), strings.Join(parts, ", "), count(len(c.Cells), "row"))
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
	few, twice, shown, machine, older := 0, 0, 0, 0, 0
	var hidden []compare.Finding // the noisy ones
	for _, cell := range c.Cells {
		if n := cell.Estimates[0].Repetitions; n < stats.LeastForInterval {
			few++
			if n == 2 {
				twice++
			}
		}
		if !cell.Estimates[0].Judged() {
			machine++
		}
		if cell.CountsFailed() {
			older++
		}
		for _, e := range cell.Estimates {
			if e.Interval {
				shown++
			}
			if _, ok := e.Noisy(c.Margin); ok {
				hidden = append(hidden, compare.Finding{Place: cell.Place, Estimate: e})
			}
		}
	}
	if gaps := c.Gaps(); gaps != nil {
		add("missing", "%s: %s.", count(len(gaps), "gap"), c.gaps(gaps))
	}
	if few > 0 {
		why := "One repetition allows"
		if twice > 0 {
			why = "Two repetitions allow"
		}
		add("no intervals", "%s with fewer than three repetitions on both sides. %s no interval: whether a difference there is more than noise is not known. Measure with REPEAT=5.", count(few, "row"), why)
	}
	if machine > 0 {
		add("limited by the machine", "%s in which the host, the generator or the emulated link limited a side, so that goodput, TTFB and durations are not judged. "+
			"TTFB and durations are not judged either where the emulated delay was late.", count(machine, "row"))
	}
	if older > 0 {
		add("older run", "%s in which the goodput of a side includes the bytes of failed requests, as an older piecebench counted them.", count(older, "row"))
	}
	if len(hidden) > 0 {
		slices.SortStableFunc(hidden, func(x, y compare.Finding) int {
			hx, _ := x.Noisy(c.Margin)
			hy, _ := y.Noisy(c.Margin)
			return cmp.Compare(hy, hx)
		})
		h, _ := hidden[0].Noisy(c.Margin)
		add("noise", "%s in which the noise is larger than the difference and would hide one of more than %s, most in %s of %s (%s). A longer DURATION or a greater REPEAT shows more.",
			count(len(hidden), "figure"), wholePercent(c.Margin), hidden[0].Metric.Name, c.place(hidden[0].Place), hiddenShare(h))
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
			n[cell.Estimates[i].Verdict(c.Margin)]++
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
		t.rows = append(t.rows, append(line, figure(m, e.A), figure(m, e.B), change(e), interval(e), strconv.Itoa(e.Repetitions), string(e.Verdict(c.Margin))))
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
	case e.Metric.IsDifference():
		return strings.TrimSuffix(scale(e, e.Low), points) + " to " + scale(e, e.High)
	}
	return readable.Interval(1+e.Low, 1+e.High, readable.Ratio)
}

const points = " points"

// scale writes a change as a ratio, or as a difference in percentage points.
func scale(e compare.Estimate, change float64) string {
	if e.Metric.IsDifference() {
		return fmt.Sprintf("%+.2f", 100*change) + points
	}
	return readable.Ratio(1 + change)
}

// gap says what is missing of one side.
func (c comparison) gap(g compare.Gap) string {
	side := c.a
	if g.Second {
		side = c.b
	}
	what := fmt.Sprintf("repetition %d of %s is missing", g.Repetition, side)
	switch g.Lack {
	case compare.NoGoodput:
		what = fmt.Sprintf("%s delivered nothing in repetition %d", side, g.Repetition)
	case compare.NoFigure:
		what = fmt.Sprintf("%s of %s is not known in repetition %d", g.Metric, side, g.Repetition)
	}
	return c.place(g.Place) + ": " + what
}

// gaps names the first few.
func (c comparison) gaps(all []compare.Gap) string {
	var names []string
	for _, g := range all {
		names = append(names, c.gap(g))
	}
	return firstFew(names)
}

// firstFew names some and counts the others.
func firstFew(names []string) string {
	if n := len(names) - maxNamed; n > 0 {
		names = append(names[:maxNamed:maxNamed], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, "; ")
}

// Regressions says in one line which figures are worse, the first few by name.
func Regressions(c *compare.Comparison, found []compare.Finding) string {
	var names []string
	for _, r := range found {
		text := change(r.Estimate)
		if r.Interval {
			text += " (" + interval(r.Estimate) + ")"
		}
		names = append(names, fmt.Sprintf("%s, %s: %s", r.Metric.Name, newComparison(c).place(r.Place), text))
	}
	return printable(firstFew(names))
}

// Missing says in one line what a comparison lacks, the first few by name; empty
// where it lacks nothing.
func Missing(compared *compare.Comparison) string {
	c := newComparison(compared)
	var names []string
	for _, r := range c.Incomplete() {
		names = append(names, fmt.Sprintf("%s has %d of %s", r.ID, len(r.Cells), count(r.Planned, "planned cell")))
	}
	for _, only := range []struct {
		places []compare.Place
		other  string
	}{{c.OnlyA, c.b}, {c.OnlyB, c.a}} {
		for _, p := range only.places {
			names = append(names, fmt.Sprintf("%s: not in %s", c.place(p), only.other))
		}
	}
	for _, g := range c.Gaps() {
		names = append(names, c.gap(g))
	}
	return printable(firstFew(names))
}
