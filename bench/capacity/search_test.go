package capacity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"piecebench/bench/result"
)

// server holds the limits in a cell if the clients are at most its capacity, which varies from
// cell to cell by noise (a standard deviation, as a share), and unless an accident happens.
type server struct {
	capacity, noise, accidents float64
	machine                    int // beyond so many clients the machine decides; 0: never
	random                     *rand.Rand
}

func (s server) cell(clients int) Verdict {
	n := float64(clients)
	switch {
	case s.machine > 0 && clients > s.machine:
		return NotJudged
	case n > s.capacity*math.Exp(s.noise*s.random.NormFloat64()) || s.random.Float64() < s.accidents:
		return Failed
	}
	return Held
}

func (s server) search(most int) (t tries) {
	for {
		clients, more := t.next(most)
		if !more {
			return t
		}
		t = append(t, try{clients, s.cell(clients)})
	}
}

// near tells whether a number is within 5 % of the truth, or one client, and a tolerance.
func near(low int, truth, tolerance float64) bool {
	off := math.Abs(float64(low) - math.Floor(truth))
	return off <= 1 || off <= (0.05+tolerance)*truth
}

func TestEveryCapacityIsFoundWithin5PercentIn12Cells(t *testing.T) {
	for _, most := range []int{1, 2, 10, 100, 1000, 20000, 50000} {
		for truth := 1; truth < most; truth += 1 + truth/300 {
			found := server{capacity: float64(truth), random: rand.New(rand.NewPCG(1, 1))}.search(most)
			low, high := found.ends()
			if low > truth || high <= truth || !narrow(low, high) || float64(low) < float64(truth)/result.CapacityPrecision && low < truth || len(found) > MostCells {
				t.Errorf("%d of %d clients: between %d and %d after %d cells: %v", truth, most, low, high, len(found), found)
			}
		}
	}
}

// TestNoisyCapacities prints the table of docs/METHODOLOGY.md.
func TestNoisyCapacities(t *testing.T) {
	const most, searches = 20000, 2000
	for _, c := range []struct{ noise, accidents, within, claims, contained, confirmed float64 }{
		{0, 0, 1, 1, 1, 1},
		{0.01, 0, 0.97, 0.999, 0.84, 0.94},
		{0.02, 0, 0.92, 0.999, 0.73, 0.90},
		{0.03, 0, 0.87, 0.999, 0.65, 0.86},
		{0.01, 0.03, 0.88, 0.999, 0.82, 0.85},
	} {
		random := rand.New(rand.NewPCG(7, 7))
		var within, claims, contained, confirmed, cells float64
		for range searches {
			s := server{capacity: math.Exp(random.Float64() * math.Log(most)), noise: c.noise, accidents: c.accidents, random: random}
			found := s.search(most)
			low, high := found.ends()
			count := func(n *float64, yes bool) {
				if yes {
					*n += 1.0 / searches
				}
			}
			count(&within, near(low, s.capacity, 0))
			count(&claims, float64(low) <= s.capacity*(1+4*c.noise))
			count(&contained, float64(low) <= s.capacity && (high == 0 || float64(high) > s.capacity))
			count(&confirmed, narrow(low, high))
			cells += float64(len(found)) / searches
			if len(found) > MostCells {
				t.Fatalf("%d cells", len(found))
			}
		}
		shown := fmt.Sprintf("noise %.0f %%, accidents %.0f %%: within 5 %%: %.1f %%; contains the truth: %.1f %%; narrow: %.1f %%; %.1f cells",
			100*c.noise, 100*c.accidents, 100*within, 100*contained, 100*confirmed, cells)
		t.Log(shown)
		const rounding = 1e-9
		if within < c.within-rounding || claims < c.claims-rounding || contained < c.contained-rounding || confirmed < c.confirmed-rounding {
			t.Errorf("%s; claims more: %.2f %%; want %+v", shown, 100*(1-claims), c)
		}
	}
}

func TestASearchContinuesFromItsCells(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		s := server{capacity: math.Exp(random.Float64() * 9), noise: 0.05, random: random}
		found := s.search(20000)
		for i := range found {
			if clients, more := found[:i].next(20000); !more || clients != found[i].clients {
				t.Fatalf("after %v: %d clients, %v; before it was %d", found[:i], clients, more, found[i].clients)
			}
		}
	}
}

func TestAnAccidentOfOneCellIsMeasuredAgain(t *testing.T) {
	accident := true
	var found tries
	for {
		clients, more := found.next(20000)
		if !more {
			break
		}
		v := Held
		if clients > 2000 || clients == 256 && accident {
			v = Failed
			accident = accident && clients != 256
		}
		found = append(found, try{clients, v})
	}
	if low, high := found.ends(); low < 1600 || low > 2000 || high <= 2000 || high > 2500 {
		t.Errorf("between %d and %d after %v", low, high, found)
	}
}

func TestTheMachineIsTheEnd(t *testing.T) {
	found := server{capacity: 1e9, machine: 700, random: rand.New(rand.NewPCG(1, 1))}.search(20000)
	low, high := found.ends()
	if !near(low, 700, 0) || low > 700 || high <= 700 || found.at(high) != NotJudged || found.count(high)[NotJudged] < confirmations {
		t.Errorf("between %d and %d after %v", low, high, found)
	}
}

func TestNothingHolds(t *testing.T) {
	found := server{random: rand.New(rand.NewPCG(1, 1))}.search(20000)
	if low, high := found.ends(); low != 0 || high != 1 || found.count(1)[Failed] < confirmations {
		t.Errorf("between %d and %d after %v", low, high, found)
	}
}

func TestEverythingHolds(t *testing.T) {
	found := server{capacity: 1e9, random: rand.New(rand.NewPCG(1, 1))}.search(20000)
	if low, high := found.ends(); low != 20000 || high != 0 || len(found) != 5 {
		t.Errorf("between %d and %d after %v", low, high, found)
	}
}

// What held above a failure does not count.
func TestANumberAboveAFailureIsNotClaimed(t *testing.T) {
	found := tries{{16, Held}, {200, Held}, {100, Failed}, {100, Failed}, {97, Held}, {97, Held}}
	if low, high := found.ends(); low != 97 || high != 100 {
		t.Errorf("between %d and %d", low, high)
	}
	if clients, more := found.next(20000); more {
		t.Errorf("it goes on with %d", clients)
	}
}

func TestConfidence(t *testing.T) {
	for want, c := range map[float64][2]int{0: {0, 0}, 0.5: {1, 1}, 0.75: {2, 2}, 0.875: {3, 3}, 0.5000001: {2, 3}} {
		if got := confidence(c[0], c[1]); math.Abs(got-want) > 1e-6 {
			t.Errorf("%d of %d: %v, want %v", c[0], c[1], got, want)
		}
	}
}
