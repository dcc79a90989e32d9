package capacity

import (
	"math"

	"piecebench/bench/result"
)

// MostCells is the most cells that one search measures.
const MostCells = 12

const (
	first  = 16 // clients of the first cell
	growth = 16 // factor to the next cell, until one does not hold
	// confirmations is how many cells must agree at either end.
	confirmations = 2
	// doubt is how many cells in a row must hold below an upper end that was measured once,
	// until it is measured again: its failure may have been an accident.
	doubt = 3
)

// Verdict is what a cell shows.
type Verdict string

// Verdicts.
const (
	Held      Verdict = "held"       // all limits
	Failed    Verdict = "failed"     // a limit did not hold, and the server is the cause
	NotJudged Verdict = "not judged" // the measuring machine decided the figures
	undecided Verdict = ""           // of several cells: as many held as failed
)

// try is one cell of a search.
type try struct {
	clients int
	verdict Verdict
}

// tries are the cells of a search, in the order in which they were measured.
type tries []try

// next returns the number of clients that a search up to so many clients measures next, and
// false at its end. It depends on nothing else, so a search can continue from its cells.
func (t tries) next(most int) (clients int, more bool) {
	low, high := t.ends()
	switch {
	case len(t) >= MostCells:
		return 0, false
	case high > 0 && (t.at(high) == undecided || t.doubts(high)):
		return high, true
	case high == 0 && low == 0:
		return min(first, most), true
	case high == 0 && low < most:
		return min(low*growth, most), true
	case !narrow(low, high):
		return between(low, high), true
	case low > 0 && t.agreeing(low) < confirmations:
		return low, true
	case high > 0 && t.agreeing(high) < confirmations:
		return high, true
	}
	return 0, false
}

// ends returns the most clients that held below all that failed, and the least above these
// that did not hold. Either is 0 if there is none.
func (t tries) ends() (low, high int) {
	failed := math.MaxInt
	for _, try := range t {
		if v := t.at(try.clients); v == Failed || v == undecided {
			failed = min(failed, try.clients)
		}
	}
	for _, try := range t {
		if try.clients < failed && t.at(try.clients) == Held {
			low = max(low, try.clients)
		}
	}
	for _, try := range t {
		if n := try.clients; n > low && (high == 0 || n < high) && t.at(n) != Held {
			high = n
		}
	}
	return low, high
}

// at returns what most of the judged cells with so many clients show.
func (t tries) at(clients int) Verdict {
	n := t.count(clients)
	switch {
	case n[Held] > n[Failed]:
		return Held
	case n[Failed] > n[Held]:
		return Failed
	case n[Held] > 0:
		return undecided
	}
	return NotJudged
}

// count returns how many cells with so many clients have each verdict.
func (t tries) count(clients int) map[Verdict]int {
	n := map[Verdict]int{}
	for _, try := range t {
		if try.clients == clients {
			n[try.verdict]++
		}
	}
	return n
}

func (t tries) agreeing(clients int) int { return t.count(clients)[t.at(clients)] }

// doubts tells whether all that was measured last held, below an end that was measured once.
func (t tries) doubts(high int) bool {
	if len(t) <= doubt || t.agreeing(high) > 1 {
		return false
	}
	for _, try := range t[len(t)-doubt:] {
		if try.verdict != Held || try.clients > high {
			return false
		}
	}
	return true
}

// narrow tells whether the ends are close enough. Without a high end they are.
func narrow(low, high int) bool {
	return high == 0 || high <= low+1 || float64(high) <= result.CapacityPrecision*float64(low)
}

// between returns the middle of the ends on a log scale.
func between(low, high int) int {
	middle := math.Sqrt(float64(max(1, low)) * float64(high))
	return min(max(int(math.Round(middle)), low+1), high-1)
}

// confidence is how sure it is that more than half of the cells with so many clients would
// agree: 1 minus the probability that a fair coin gives as many.
func confidence(agree, all int) float64 {
	atLeast, ways := 0.0, 1.0 // ways to choose k of all, for k = all, all-1, ...
	for k := all; k >= agree; k-- {
		atLeast += ways
		ways = ways * float64(k) / float64(all-k+1)
	}
	return 1 - atLeast/math.Exp2(float64(all))
}
