package compare

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"testing"

	"piecebench/bench/result"
	"piecebench/records"
)

// simulated is a cell of a closed loop of clients against a server whose
// requests take an exponential time of the given mean, through the code that
// summarises real records.
func simulated(t *testing.T, rng *rand.Rand, repetition int, mean float64) result.Cell {
	t.Helper()
	const clients, warmup, end = 10, 2e9, 12e9
	rows := iter.Seq2[records.Request, error](func(yield func(records.Request, error) bool) {
		for range clients {
			for at := rng.Float64() * warmup / 2; at < end; {
				took := rng.ExpFloat64() * mean * 1e9
				r := records.Request{StartUnixNs: int64(at), DurationNs: int64(took), TTFBNs: int64(took / 2), Outcome: records.OK}
				if at+took > end {
					r.DurationNs, r.Outcome = int64(end-at), records.Cut
					if at+took/2 > end {
						r.TTFBNs = 0
					}
				}
				if at+took > warmup {
					r.WindowBytes = int64(1e6 * float64(r.DurationNs) / took)
				}
				if !yield(r, nil) {
					return
				}
				at += took
			}
		}
	})
	c := result.Cell{Target: "x", Link: "none", Mode: "full", Concurrency: clients, Repetition: repetition}
	if err := result.Summarise(rows, records.Window{StartNs: warmup, EndNs: end}, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// Two identical servers: the interval contains "no difference" in at least 95 of 100 runs.
func TestIdenticalServersShowNoDifference(t *testing.T) {
	const runs = 1000
	rng := rand.New(rand.NewPCG(1, 2))
	for _, repetitions := range []int{3, 5, 10} {
		contained := make([]int, len(Metrics))
		for range runs {
			var a, b []result.Cell
			for r := range repetitions {
				a = append(a, simulated(t, rng, r+1, 0.5))
				b = append(b, simulated(t, rng, r+1, 0.5))
			}
			for i, m := range Metrics {
				if e := m.Of(a, b); e.Interval && e.Low <= 0 && 0 <= e.High {
					contained[i]++
				}
			}
		}
		for i, m := range Metrics {
			if m.Name == "server CPU" { // not simulated
				continue
			}
			share := float64(contained[i]) / runs
			t.Logf("%2d repetitions, %s: %.1f %%", repetitions, m.Name, 100*share)
			if share < 0.95 {
				t.Errorf("%d repetitions, %s: the interval contains no difference in %.1f %% of the runs", repetitions, m.Name, 100*share)
			}
		}
	}
}

// goodputNoise is the standard deviation of the logarithm of two targets'
// goodput ratio from repetition to repetition, in the recorded cell where it is
// greatest.
func goodputNoise(t *testing.T) float64 {
	greatest := 0.0
	for _, name := range []string{"identical-1gbit", "identical-10gbit"} {
		for _, target := range []string{"again", "gateway"} {
			for _, cell := range targetsOf(t, recorded(t, name), "raw", target).Rows {
				e := cell.Estimates[0]
				half := math.Log1p(e.High) - math.Log1p(e.Change)
				greatest = max(greatest, half/4.604095*math.Sqrt(5)) // the 99.5 % point of Student's t of 4 degrees of freedom
			}
		}
	}
	return greatest
}

// A server that is 5 % slower is found with REPEAT=5 under recorded noise.
func TestAServerFivePercentSlowerIsFound(t *testing.T) {
	const runs = 1000
	noise := goodputNoise(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for _, repetitions := range []int{3, 5, 10} {
		found := 0
		for range runs {
			var a, b []result.Cell
			for r := range repetitions {
				one := result.Cell{Repetition: r + 1, WindowS: 10, WindowBytes: 1e9}
				other := one
				other.WindowBytes = int64(0.95e9 * math.Exp(noise*rng.NormFloat64()))
				a, b = append(a, one), append(b, other)
			}
			if Goodput.Of(a, b).Verdict(DefaultMargin) == Worse {
				found++
			}
		}
		text := fmt.Sprintf("noise %.2f %%, %d repetitions: found in %d of %d", 100*noise, repetitions, found, runs)
		t.Log(text)
		if repetitions >= 5 && found < runs*90/100 {
			t.Error(text)
		}
	}
}
