// Package capacity finds the most clients that a server serves within limits. The search is
// a function of the cells that were measured; others measure them.
package capacity

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"piecebench/bench/plan"
	"piecebench/bench/result"
	"piecebench/bench/settings"
	"piecebench/bench/slo"
	"piecebench/bench/workload"
	"piecebench/netem/link"
)

// Limits are what is asked of a run of searches.
type Limits struct {
	File    string // name of the file of limits
	Content string // its content: see package slo
	AtLeast int    // clients that each target has to serve
}

// Search is a run of searches: one for each target, link and mode for which there are limits.
type Search struct {
	settings settings.Settings
	limits   Limits
	rules    []slo.Rule
	searches []one
	without  []string // targets, links and modes without limits
}

// one is the search for one target under one link and mode.
type one struct {
	target settings.Target
	link   link.Spec
	mode   workload.Mode
	most   int
}

func (o one) String() string {
	return fmt.Sprintf("%s, %s, %s", o.target.Name, o.mode.Name, result.LinkName(o.link.String()))
}

// New lays the searches out. It refuses limits that a search cannot use.
func New(s settings.Settings, l Limits) (*Search, error) {
	rules, err := slo.Parse(l.File, []byte(l.Content))
	if err != nil {
		return nil, err
	}
	if s.Repeat != 1 {
		return nil, fmt.Errorf("REPEAT=%d: a search repeats cells itself, near the limit: leave REPEAT out", s.Repeat)
	}
	search := &Search{settings: s, limits: l, rules: rules}
	used := make([]bool, len(rules))
	for _, link := range s.Links {
		for _, mode := range s.Modes {
			for _, target := range s.Targets {
				o := one{target, link, mode, slices.Max(s.Concurrency.Of(mode))}
				limited := false
				for i, r := range rules {
					if r.Selects(target.Name, link.String(), mode.Name) {
						limited, used[i] = true, true
					}
				}
				if limited {
					search.searches = append(search.searches, o)
				} else {
					search.without = append(search.without, o.String())
				}
			}
		}
	}
	for i, r := range rules {
		at := fmt.Sprintf("%s: line %d", l.File, r.Line())
		switch {
		case r.Concurrency != "":
			return nil, fmt.Errorf("%s: a search chooses the concurrency itself: leave the selector concurrency out", at)
		case len(r.GoodputOver) > 0:
			return nil, fmt.Errorf("%s: goodput_over compares two targets, and a search looks at one: leave it out", at)
		case !used[i]:
			return nil, fmt.Errorf("%s: no target, link and mode is one that this rule selects: there are %s", at, strings.Join(search.without, "; "))
		}
	}
	return search, nil
}

// MostCells is the most cells that all searches measure together.
func (s *Search) MostCells() int { return MostCells * len(s.searches) }

// Next returns the cell that follows those that are done, and how long the searches still take
// at most. It returns false after the last.
func (s *Search) Next(done []result.Cell) (c plan.Cell, left time.Duration, more bool) {
	for _, o := range s.searches {
		t := s.tries(o, done)
		clients, again := t.next(o.most)
		if !again {
			continue
		}
		next := plan.Cell{Target: o.target, Link: o.link, Mode: o.mode, Concurrency: clients}
		left += time.Duration(MostCells-len(t)) * plan.CellTime(next, s.settings)
		if !more {
			next.ID, next.Repetition = len(done)+1, 1
			for _, try := range t {
				if try.clients == clients {
					next.Repetition++
				}
			}
			c, more = next, true
		}
	}
	return c, left, more
}

// tries are the cells of one search.
func (s *Search) tries(o one, done []result.Cell) (t tries) {
	for _, c := range s.of(o, done) {
		v, _ := s.Judge(c)
		t = append(t, try{c.Concurrency, v})
	}
	return t
}

func (s *Search) of(o one, done []result.Cell) (own []result.Cell) {
	for _, c := range done {
		if c.Target == o.target.Name && c.Link == o.link.String() && c.Mode == o.mode.Name {
			own = append(own, c)
		}
	}
	return own
}

// Judge holds a cell to the limits. why lists the limits that do not hold or, of a cell that is
// not judged, those that could not be judged.
func (s *Search) Judge(c result.Cell) (v Verdict, why []string) {
	broken, notJudged := slo.Cell(c, s.rules)
	switch {
	case len(broken) > 0:
		return Failed, broken
	case len(notJudged) > 0:
		return NotJudged, notJudged
	}
	return Held, nil
}

// Capacity answers from the cells that are done.
func (s *Search) Capacity(done []result.Cell) *result.Capacity {
	c := &result.Capacity{File: s.limits.File, Limits: s.limits.Content, AtLeast: max(1, s.limits.AtLeast)}
	for _, o := range s.searches {
		c.Answers = append(c.Answers, s.answer(o, s.of(o, done)))
	}
	return c
}

func (s *Search) answer(o one, cells []result.Cell) result.CapacityAnswer {
	t := s.tries(o, cells)
	low, high := t.ends()
	_, more := t.next(o.most)
	a := result.CapacityAnswer{Target: o.target.Name, Link: o.link.String(), Mode: o.mode.Name, Most: o.most,
		Cells: len(cells), Done: !more, Clients: low, Held: t.show(low), Beyond: t.show(high)}
	for i, try := range t {
		if try.clients == high && try.verdict == Failed && a.Failure == nil {
			c := cells[i]
			_, why := s.Judge(c)
			a.Failure = &result.CapacityFailure{Cell: c.ID, Clients: high, Limits: why, LimitedBy: c.LimitedBy, Because: c.Because}
		}
		if n := try.clients; n > high && high > 0 && t.at(high) != NotJudged && t.at(n) == Held && !slices.Contains(a.Exceptions, n) {
			a.Exceptions = append(a.Exceptions, n)
		}
	}
	switch {
	case high == 0 && low == o.most:
		a.AtLeast = result.AtLeastMost
	case high > 0 && a.Failure == nil:
		a.AtLeast = result.AtLeastMachine
	}
	slices.Sort(a.Exceptions)
	return a
}

// show counts the cells with so many clients; nil of none.
func (t tries) show(clients int) *result.CapacityAt {
	n := t.count(clients)
	all := n[Held] + n[Failed] + n[NotJudged]
	if all == 0 {
		return nil
	}
	judged := n[Held] + n[Failed]
	return &result.CapacityAt{Clients: clients, Held: n[Held], Failed: n[Failed], NotJudged: n[NotJudged],
		Confidence: confidence(max(n[Held], n[Failed]), judged)}
}
