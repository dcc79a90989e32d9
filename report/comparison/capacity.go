package comparison

import (
	"fmt"
	"strings"

	"piecebench/bench/compare"
	"piecebench/bench/result"
	"piecebench/report"
)

// capacityVerdicts counts the pairs by their verdict.
func (c comparison) capacityVerdicts(pairs []compare.Capacity) string {
	n := map[compare.Verdict]int{}
	for _, p := range pairs {
		n[p.Verdict()]++
	}
	var parts []string
	for _, v := range verdicts {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%s in %d", v, n[v]))
		}
	}
	return fmt.Sprintf("%s of %d", strings.Join(parts, ", "), len(pairs))
}

// capacities is the table of the clients that each side serves.
func (c comparison) capacities(pairs []compare.Capacity) report.Section {
	t := report.Table{Head: []report.Column{report.Left("link"), report.Left("mode"), report.Left("target"), report.Right(c.a), report.Left("did not hold"),
		report.Right(c.b), report.Left("did not hold"), report.Left("verdict")}, Groups: 2}
	beyond := func(a result.CapacityAnswer) string {
		if a.Beyond == nil {
			return report.Missing
		}
		return fmt.Sprint(a.Beyond.Clients)
	}
	for _, p := range pairs {
		target := p.A.Target
		if p.B.Target != target {
			target = p.A.Target + ", " + p.B.Target
		}
		t.Add(result.LinkName(p.A.Link), p.A.Mode, target, report.Serves(p.A), beyond(p.A), report.Serves(p.B), beyond(p.B), string(p.Verdict()))
	}
	return report.Section{Title: "Capacity: clients served within the limits", Table: t,
		Notes: []string{"Better, worse: as many clients as one side serves did not hold on the other."}}
}
