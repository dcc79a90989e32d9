package slo

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"piecebench/bench/bottleneck"
	"piecebench/bench/compare"
	"piecebench/bench/readable"
	"piecebench/bench/result"
)

// limit is one of a rule's limits on a cell.
type limit struct {
	name   string
	broken func(result.Cell) string // how a cell breaks it; empty if it holds
	// machine reports whether the machine, not the server, decided the figure of a cell.
	machine func(result.Cell) bool
}

// Limits on goodput.
const (
	linkShare     = "link share"
	clientGoodput = "goodput per client"
)

// Why a figure is unknown.
const (
	unanswered = "no request was answered"
	noJob      = "no job ended"
)

// limits returns the limits of a rule, except goodput_over.
func (r Rule) limits() []limit {
	var all []limit
	add := func(name string, given bool, machine func(result.Cell) bool, broken func(result.Cell) string) {
		if given {
			all = append(all, limit{name, broken, machine})
		}
	}
	add("success rate", r.SuccessRate != nil, failedOnTheWay, func(c result.Cell) string {
		ended := c.RequestsOK + bottleneck.Charged(c)
		return atLeast(float64(c.RequestsOK)/float64(max(1, ended)), ended > 0, float64(*r.SuccessRate), "no request ended")
	})
	add(linkShare, r.LinkShare != nil, bottleneck.DecidedByMachine, func(c result.Cell) string {
		share, ok := c.LinkShare()
		return atLeast(share, ok, float64(*r.LinkShare), "the link has no measured ceiling")
	})
	add(clientGoodput, r.ClientGoodput != nil, bottleneck.DecidedByMachine, func(c result.Cell) string {
		rate, least := c.GoodputBits()/float64(c.Concurrency), float64(*r.ClientGoodput)
		if rate >= least {
			return ""
		}
		return fmt.Sprintf("is %s Mbit/s; it must be at least %s", megabits(rate), megabits(least))
	})
	add("TTFB p50", r.TTFBP50 != nil, bottleneck.TimesDecidedByMachine, func(c result.Cell) string { return atMost(c.TTFB.P50, *r.TTFBP50, unanswered) })
	add("TTFB p95", r.TTFBP95 != nil, bottleneck.TimesDecidedByMachine, func(c result.Cell) string { return atMost(c.TTFB.P95, *r.TTFBP95, unanswered) })
	add("TTFB p99", r.TTFBP99 != nil, bottleneck.TimesDecidedByMachine, func(c result.Cell) string { return atMost(c.TTFB.P99, *r.TTFBP99, unanswered) })
	add("job success rate", r.JobSuccessRate != nil, failedOnTheWay, func(c result.Cell) string {
		share, known := jobs(c).SuccessRate()
		return atLeast(share, known, float64(*r.JobSuccessRate), noJob)
	})
	add("job time p50", r.JobP50 != nil, bottleneck.TimesDecidedByMachine, func(c result.Cell) string { return atMost(jobs(c).Duration.P50, *r.JobP50, noJob) })
	add("job time p90", r.JobP90 != nil, bottleneck.TimesDecidedByMachine, func(c result.Cell) string { return atMost(jobs(c).Duration.P90, *r.JobP90, noJob) })
	add("job time p99", r.JobP99 != nil, bottleneck.TimesDecidedByMachine, func(c result.Cell) string { return atMost(jobs(c).Duration.P99, *r.JobP99, noJob) })
	return all
}

// jobs are those of a cell. One without jobs has none that ended.
func jobs(c result.Cell) result.Jobs {
	if c.Jobs == nil {
		return result.Jobs{}
	}
	return *c.Jobs
}

// judge says how a cell breaks the limit; not judged, if the machine decided it.
func (l limit) judge(c result.Cell) (problem string, judged bool) {
	if l.machine(c) {
		return l.notJudged(c), false
	}
	if problem = l.broken(c); problem != "" {
		problem = l.name + " " + problem
	}
	return problem, true
}

func (l limit) notJudged(c result.Cell) string { return l.name + " is not judged: " + why(c) }

// failedOnTheWay reports whether requests failed, but none because of the server.
func failedOnTheWay(c result.Cell) bool { return c.RequestsFailed() > 0 && bottleneck.Charged(c) == 0 }

func atLeast(share float64, known bool, least float64, unknown string) string {
	switch {
	case !known:
		return fmt.Sprintf("is unknown, because %s; it must be at least %s", unknown, percent(least))
	case share < least:
		return fmt.Sprintf("is %s; it must be at least %s", percent(share), percent(least))
	}
	return ""
}

func atMost(q *result.Quantile, most Time, unknown string) string {
	limit := time.Duration(most)
	if q == nil {
		return fmt.Sprintf("is unknown, because %s; it must be at most %s", unknown, limit)
	}
	seen := time.Duration(q.Ms * float64(time.Millisecond))
	switch {
	case seen > limit && q.Bound:
		return fmt.Sprintf("is above %s; it must be at most %s", seen.Round(10*time.Microsecond), limit)
	case seen > limit:
		return fmt.Sprintf("is %s; it must be at most %s", seen.Round(10*time.Microsecond), limit)
	case q.Bound:
		return fmt.Sprintf("is above %s, and may be above the limit of %s: requests were cut. Use a longer DURATION", seen.Round(10*time.Microsecond), limit)
	}
	return ""
}

// megabits has enough digits to tell 4.999 Mbit/s from 5.
func megabits(bits float64) string { return strconv.FormatFloat(bits/1e6, 'g', 6, 64) }

// percent shows enough digits to distinguish 99.899 % from 99.9 %.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'g', 6, 64) + " %" }

// Outcome is what a check found.
type Outcome struct {
	Held int // limits that hold
	// Broken has a line for each limit that does not hold or whose figure is unknown. It
	// also has a line for a run that lacks cells, for a rule that selects no cell, and for
	// a limit that could not be judged in any cell.
	Broken []string
	// NotJudged has a line for each limit whose figure the measuring machine decided, not
	// the server.
	NotJudged []string
}

// Check compares a run with limits.
func Check(run *result.Run, rules []Rule) Outcome {
	var o Outcome
	look := func(where, problem string) {
		if problem == "" {
			o.Held++
		} else {
			o.Broken = append(o.Broken, where+": "+problem)
		}
	}
	if len(run.Cells) < run.Planned {
		look("the run is incomplete", fmt.Sprintf("it has %d of %d planned cells", len(run.Cells), run.Planned))
	}
	for _, r := range rules {
		line := fmt.Sprintf("line %d", r.line)
		selected := r.selected(run)
		if len(selected) == 0 {
			look(line, "this rule selects no cell of the run; the run has "+contents(run))
			continue
		}
		judged := map[string]bool{} // by the name of a limit: whether it was in any cell
		see := func(name, where, problem string, ok bool) {
			judged[name] = judged[name] || ok
			if ok {
				look(where, problem)
			} else {
				o.NotJudged = append(o.NotJudged, where+": "+problem)
			}
		}
		for _, l := range r.limits() {
			for _, at := range selected {
				for _, c := range at.row.Cells[at.Target] {
					where := fmt.Sprintf("%s: %s, repetition %d", line, at, c.Repetition)
					problem, ok := l.judge(c)
					see(l.name, where, problem, ok)
				}
			}
		}
		for _, base := range slices.Sorted(maps.Keys(r.GoodputOver)) {
			if !slices.ContainsFunc(run.Cells, func(c result.Cell) bool { return c.Target == base }) {
				look(line, fmt.Sprintf("goodput_over names %s, which is not a target of the run; the run has %s", base, contents(run)))
				continue
			}
			name := "goodput over that of " + base
			for _, at := range selected {
				if base == at.Target {
					continue
				}
				where := fmt.Sprintf("%s: %s", line, at)
				e := compare.Goodput.Of(at.row.Cells[base], at.row.Cells[at.Target])
				problem := name + " is not judged: the machine limited one of the two"
				if e.Judged() {
					problem = below(e, name, float64(r.GoodputOver[base]))
				}
				see(name, where, problem, e.Judged())
			}
		}
		for _, name := range slices.Sorted(maps.Keys(judged)) {
			if judged[name] {
				continue
			}
			look(line, name+" could not be judged in any cell that this rule selects: the measuring machine limited them. Use a machine with more cores, or select other cells")
		}
	}
	return o
}

// Cell holds one cell to the limits of the rules that select it, but for goodput_over. It
// returns those that do not hold, and those that are not judged, in words. Of a cell that the
// machine decided, nothing but wrong answers counts against the server, as where the emulated
// link did; and goodput that is enough counts for it, because a machine only lowers that.
func Cell(c result.Cell, rules []Rule) (broken, notJudged []string) {
	judged := c
	if bottleneck.DecidedByMachine(c) {
		judged.LimitedBy = bottleneck.Emulator
	}
	for _, r := range rules {
		if !r.selects(c) {
			continue
		}
		for _, l := range r.limits() {
			goodput := l.name == linkShare || l.name == clientGoodput
			switch problem, ok := l.judge(judged); {
			case !ok && goodput && l.broken(c) == "": // it holds
			case !ok:
				notJudged = append(notJudged, l.notJudged(c))
			case problem != "":
				broken = append(broken, problem)
			}
		}
	}
	return broken, notJudged
}

// why returns the reason why the machine decided the figure of a cell.
func why(c result.Cell) string {
	if bottleneck.DecidedByMachine(c) {
		return "the machine limited the cell (" + c.LimitedBy + ")"
	}
	return "the emulated delay was late"
}

// contents lists what rules can select in a run, for a message.
func contents(run *result.Run) string {
	if len(run.Cells) == 0 {
		return "no cells"
	}
	var targets, links, modes, clients []string
	for _, c := range run.Cells {
		targets, links, modes, clients = append(targets, c.Target), append(links, c.Link), append(modes, c.Mode), append(clients, strconv.Itoa(c.Concurrency))
	}
	names := func(all []string) string {
		slices.Sort(all)
		return strings.Join(slices.Compact(all), ", ")
	}
	return fmt.Sprintf("the targets %s, links %s, modes %s and concurrencies %s", names(targets), names(links), names(modes), names(clients))
}

// place is the cells of a target in a row that a rule selects.
type place struct {
	compare.Place
	row result.Row
}

func (r Rule) selected(run *result.Run) (places []place) {
	for _, row := range run.Rows() {
		for _, target := range run.Targets() {
			if cells := row.Cells[target]; cells != nil && r.selects(cells[0]) {
				places = append(places, place{compare.Place{Conditions: row.Conditions, Target: target}, row})
			}
		}
	}
	return places
}

// below returns how far a ratio is below its minimum. It is empty if the ratio is not.
func below(e compare.Estimate, what string, least float64) string {
	ratio := 1 + e.Change
	switch {
	case !e.Known:
		return fmt.Sprintf("%s is unknown, because that target has no such cell or delivered nothing; it must be at least %.4g", what, least)
	case ratio >= least-1e-9: // the ratio is computed from logarithms
		return ""
	case e.Interval:
		return fmt.Sprintf("%s is %.4f (%.0f %% interval %s); it must be at least %.4g", what, ratio, 100*compare.Confidence, readable.Interval(1+e.Low, 1+e.High, readable.Ratio), least)
	}
	return fmt.Sprintf("%s is %.4f; it must be at least %.4g", what, ratio, least)
}

func (r Rule) selects(c result.Cell) bool {
	return r.Selects(c.Target, c.Link, c.Mode) && selects(r.Concurrency, strconv.Itoa(c.Concurrency))
}
