package compare

import "piecebench/bench/result"

// Capacity is the clients that a target serves, as both sides found it.
type Capacity struct {
	A, B result.CapacityAnswer
}

// Capacities pairs the answers of two runs, or of two targets of one run, that searched
// capacities: same link, mode and target. None if one is a sweep.
func (c *Comparison) Capacities() (pairs []Capacity) {
	if !c.searches() {
		return nil
	}
	for _, a := range c.A.Run.Capacity.Answers {
		for _, b := range c.B.Run.Capacity.Answers {
			of, with := c.A.Target, c.B.Target
			if of == "" {
				of, with = a.Target, a.Target
			}
			if a.Target == of && b.Target == with && a.Link == b.Link && a.Mode == b.Mode {
				pairs = append(pairs, Capacity{a, b})
			}
		}
	}
	return pairs
}

// searches tells whether both sides searched capacities.
func (c *Comparison) searches() bool { return c.A.Run.Capacity != nil && c.B.Run.Capacity != nil }

// Verdict compares the ends of the two answers: better or worse, if as many clients as held on
// one side failed on the other.
func (c Capacity) Verdict() Verdict {
	failed := func(a result.CapacityAnswer) bool { return a.Failure != nil }
	switch {
	case !c.A.Done || !c.B.Done:
		return Unclear
	case failed(c.A) && c.B.Clients >= c.A.Beyond.Clients:
		return Better
	case failed(c.B) && c.A.Clients >= c.B.Beyond.Clients:
		return Worse
	case c.A.AtLeast == result.AtLeastMachine || c.B.AtLeast == result.AtLeastMachine:
		return NotJudged
	case !failed(c.A) || !failed(c.B) || c.A.Wide() || c.B.Wide():
		return Unclear
	}
	return NoDifference
}
