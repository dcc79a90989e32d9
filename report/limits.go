package report

import (
	"slices"
	"strconv"
	"strings"

	"piecebench/bench/bottleneck"
)

// limits are what limited one target, in how many places.
type limits struct {
	Target string
	Parts  []limitCount
}

// limitCount is a verdict and the number of places that have it. Class is its
// colour.
type limitCount struct {
	Name, Class string
	N           int
}

// unknownLimit stands where no rule for a verdict holds.
const unknownLimit = "not known"

// limitOrder begins with the path: there a server can do nothing better.
var limitOrder = []string{bottleneck.Link, bottleneck.Latency, bottleneck.Server, bottleneck.ServerCPU, bottleneck.Host, bottleneck.Generator, bottleneck.Emulator}

// limitName is a verdict, or that it is not known.
func limitName(verdict string) string {
	if verdict == "" {
		return unknownLimit
	}
	return verdict
}

// limited counts the verdicts of each target. Repetitions that differ count as
// they are shown: "link, host".
func (v *view) limited() []limits {
	var all []limits
	for t, name := range v.targets {
		l := limits{Target: name}
		for _, r := range v.rows() {
			f := r.figures[t]
			if f == nil {
				continue
			}
			by := limitName(f.limitedBy)
			i := slices.IndexFunc(l.Parts, func(p limitCount) bool { return p.Name == by })
			if i < 0 {
				l.Parts = append(l.Parts, limitCount{Name: by, Class: limitClass(by)})
				i = len(l.Parts) - 1
			}
			l.Parts[i].N++
		}
		slices.SortStableFunc(l.Parts, func(a, b limitCount) int { return limitRank(a.Name) - limitRank(b.Name) })
		all = append(all, l)
	}
	return all
}

func limitRank(name string) int {
	if i := slices.Index(limitOrder, strings.Split(name, ", ")[0]); i >= 0 {
		return i
	}
	return len(limitOrder)
}

// limitClass tells the path, the server and what measures apart.
func limitClass(name string) string {
	switch {
	case name == bottleneck.Link || name == bottleneck.Latency:
		return "path"
	case name == bottleneck.Server || name == bottleneck.ServerCPU:
		return "servers"
	case slices.Contains(limitOrder, name):
		return "machine"
	}
	return "unknown"
}

// verdicts is what decided in each cell.
func (v *view) verdicts() table {
	t := table{head: []column{left("link"), left("mode"), right("clients"), left("target"), left("limited by"), left("because")}}
	for _, r := range v.rows() {
		for i, f := range r.figures {
			if f != nil {
				t.rows = append(t.rows, []string{linkName(r.link), r.mode, strconv.Itoa(r.concurrency), v.targets[i], limitName(f.limitedBy), f.because})
			}
		}
	}
	return t
}
