package slo

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"piecebench/bench/compare"
	"piecebench/bench/result"
)

// limit says how a cell breaks one of a rule's limits; empty where it does not.
type limit func(result.Cell) string

// limits returns the limits that a rule gives, but for goodput_over.
func (r Rule) limits() []limit {
	var all []limit
	add := func(name string, given bool, broken func(result.Cell) string) {
		if given {
			all = append(all, func(c result.Cell) string {
				if text := broken(c); text != "" {
					return name + " " + text
				}
				return ""
			})
		}
	}
	add("success rate", r.SuccessRate != nil, func(c result.Cell) string {
		share, ok := c.SuccessRate()
		return atLeast(share, ok, float64(*r.SuccessRate), "no request ended")
	})
	add("link share", r.LinkShare != nil, func(c result.Cell) string {
		share, ok := c.LinkShare()
		return atLeast(share, ok, float64(*r.LinkShare), "the link has no measured ceiling")
	})
	add("TTFB p50", r.TTFBP50 != nil, func(c result.Cell) string { return atMost(c.TTFB.P50, *r.TTFBP50) })
	add("TTFB p95", r.TTFBP95 != nil, func(c result.Cell) string { return atMost(c.TTFB.P95, *r.TTFBP95) })
	add("TTFB p99", r.TTFBP99 != nil, func(c result.Cell) string { return atMost(c.TTFB.P99, *r.TTFBP99) })
	return all
}

func atLeast(share float64, known bool, least float64, unknown string) string {
	switch {
	case !known:
		return fmt.Sprintf("is not known, as %s; it must be at least %s", unknown, percent(least))
	case share < least:
		return fmt.Sprintf("is %s; it must be at least %s", percent(share), percent(least))
	}
	return ""
}

func atMost(q *result.Quantile, most Time) string {
	limit := time.Duration(most)
	if q == nil {
		return fmt.Sprintf("is not known, as no request was answered; it must be at most %s", limit)
	}
	seen := time.Duration(q.Ms * float64(time.Millisecond))
	switch {
	case seen > limit && q.Bound:
		return fmt.Sprintf("is above %s; it must be at most %s", seen.Round(10*time.Microsecond), limit)
	case seen > limit:
		return fmt.Sprintf("is %s; it must be at most %s", seen.Round(10*time.Microsecond), limit)
	case q.Bound:
		return fmt.Sprintf("is above %s, how far the cut requests hide; it must be at most %s: a longer DURATION shows it", seen.Round(10*time.Microsecond), limit)
	}
	return ""
}

// percent has enough digits to tell 99.899 % from 99.9 %.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'g', 6, 64) + " %" }

// Check returns how many limits were looked at, and a line for each that does
// not hold or is not shown to: also for a rule that selects no cell, and for a
// run that lacks cells.
func Check(run *result.Run, rules []Rule) (checked int, broken []string) {
	look := func(where, problem string) {
		checked++
		if problem != "" {
			broken = append(broken, where+": "+problem)
		}
	}
	if len(run.Cells) < run.Planned {
		look("the run is incomplete", fmt.Sprintf("%d of %d planned cells are there", len(run.Cells), run.Planned))
	}
	for _, r := range rules {
		line := fmt.Sprintf("line %d", r.line)
		var places []place
		cells := map[place][]result.Cell{}
		for _, c := range run.Cells {
			if !r.selects(c) {
				continue
			}
			at := placeOf(c)
			if cells[at] == nil {
				places = append(places, at)
			}
			cells[at] = append(cells[at], c)
		}
		if len(places) == 0 {
			look(line, "no cell of the run is one that this rule selects; it has "+contents(run))
			continue
		}
		bases := slices.Sorted(maps.Keys(r.GoodputOver))
		bases = slices.DeleteFunc(bases, func(base string) bool {
			absent := !slices.ContainsFunc(run.Cells, func(c result.Cell) bool { return c.Target == base })
			if absent {
				look(line, fmt.Sprintf("goodput_over names %s, which is no target of the run; it has %s", base, contents(run)))
			}
			return absent
		})
		for _, at := range places {
			for _, c := range cells[at] {
				for _, l := range r.limits() {
					look(fmt.Sprintf("%s: %s, repetition %d", line, at, c.Repetition), l(c))
				}
			}
			for _, base := range bases {
				if base != at.Target {
					look(fmt.Sprintf("%s: %s", line, at), below(run, at, cells[at], base, float64(r.GoodputOver[base])))
				}
			}
		}
	}
	return checked, broken
}

// contents lists what rules can select in a run.
func contents(run *result.Run) string {
	if len(run.Cells) == 0 {
		return "none"
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

type place = compare.Place

func placeOf(c result.Cell) place {
	return place{Link: c.Link, Mode: c.Mode, Concurrency: c.Concurrency, Target: c.Target}
}

// below says how far a place's goodput is below least times that of a baseline
// target; empty where it is not.
func below(run *result.Run, at place, cells []result.Cell, base string, least float64) string {
	at.Target = base
	var baseline []result.Cell
	for _, c := range run.Cells {
		if placeOf(c) == at {
			baseline = append(baseline, c)
		}
	}
	e := compare.Goodput.Of(baseline, cells)
	ratio, what := 1+e.Change, fmt.Sprintf("goodput over that of %s", base)
	switch {
	case !e.Known:
		return fmt.Sprintf("%s is not known, as that has no such cell or delivered nothing; it must be at least %.4g", what, least)
	case ratio >= least-1e-9: // it comes out of logarithms
		return ""
	case e.Interval:
		return fmt.Sprintf("%s is %.4f (%.0f %% interval %.3f to %.3f); it must be at least %.4g", what, ratio, 100*compare.Confidence, 1+e.Low, 1+e.High, least)
	}
	return fmt.Sprintf("%s is %.4f; it must be at least %.4g", what, ratio, least)
}

func (r Rule) selects(c result.Cell) bool {
	return selects(r.Target, c.Target) && selects(r.Link, c.Link) && selects(r.Mode, c.Mode) &&
		selects(r.Concurrency, strconv.Itoa(c.Concurrency))
}
