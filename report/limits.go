package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"piecebench/bench/bottleneck"
	"piecebench/bench/result"
)

// Limits count what limited one target.
type Limits struct {
	Target string
	Parts  []LimitCount
}

// LimitCount is a bottleneck and the number of rows that have it. Class groups bottlenecks:
// path, servers, machine or unknown.
type LimitCount struct {
	Name, Class string
	N           int
}

// unknownLimit stands where no rule for a bottleneck holds.
const unknownLimit = "not known"

// classes order the bottlenecks. The path and the clients’ own work are first:
// there a server can do nothing better.
var classes = []struct{ limit, class string }{
	{bottleneck.Link, "path"}, {bottleneck.Latency, "path"}, {bottleneck.ClientWork, "path"},
	{bottleneck.Server, "servers"}, {bottleneck.ServerCPU, "servers"},
	{bottleneck.Host, "machine"}, {bottleneck.Generator, "machine"}, {bottleneck.Emulator, "machine"},
}

// limit is what limited these figures, or that it is not known.
func (f *Figures) limit() string { return cmp.Or(f.LimitedBy, unknownLimit) }

// Limited counts what limited each target. Repetitions that differ count together:
// "link, host".
func (v *View) Limited() (all []Limits) {
	for _, target := range v.Targets {
		l := Limits{Target: target}
		for _, f := range v.of(target) {
			i := slices.IndexFunc(l.Parts, func(p LimitCount) bool { return p.Name == f.limit() })
			if i < 0 {
				i = len(l.Parts)
				l.Parts = append(l.Parts, LimitCount{Name: f.limit(), Class: limitClass(f.limit())})
			}
			l.Parts[i].N++
		}
		slices.SortStableFunc(l.Parts, func(a, b LimitCount) int { return limitRank(a.Name) - limitRank(b.Name) })
		all = append(all, l)
	}
	return all
}

func limitRank(name string) int {
	first, _, _ := strings.Cut(name, ", ")
	for i, c := range classes {
		if c.limit == first {
			return i
		}
	}
	return len(classes)
}

func limitClass(name string) string {
	for _, c := range classes {
		if c.limit == name {
			return c.class
		}
	}
	return "unknown"
}

// Bottlenecks is a table of what limited some rows, and the figures that show it.
func Bottlenecks(rows []*Row) Table {
	t := Table{Head: []Column{Left("link"), Left("mode"), Right("clients"), Left("target"), Left("limited by"), Left("because")}, Groups: 3}
	for _, f := range All(rows) {
		t.Add(result.LinkName(f.Row.Link), f.Row.Mode, strconv.Itoa(f.Row.Concurrency), f.Target, f.limit(), f.Because)
	}
	return t
}
