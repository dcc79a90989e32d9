package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMeanIntervalAgreesWithScipy(t *testing.T) {
	for _, c := range loadReference(t).Means {
		low, high, ok := MeanInterval(c.Values, c.Level)
		if len(c.Values) < LeastForInterval {
			continue // TestTwoObservationsHaveNoInterval
		}
		if !ok || math.Abs(low-c.Low) > 1e-9 || math.Abs(high-c.High) > 1e-9 {
			t.Errorf("%v: got %v..%v (%v), want %v..%v", c.Values, low, high, ok, c.Low, c.High)
		}
	}
}

func TestNewcombeAgreesWithStatsmodels(t *testing.T) {
	for _, c := range loadReference(t).Newcombe {
		low, high, ok := Newcombe(c.K1, c.N1, c.K2, c.N2, c.Level)
		if !ok || math.Abs(low-c.Low) > 1e-12 || math.Abs(high-c.High) > 1e-12 {
			t.Errorf("%d/%d - %d/%d: got %v..%v (%v), want %v..%v", c.K2, c.N2, c.K1, c.N1, low, high, ok, c.Low, c.High)
		}
	}
}

func TestNoIntervalWithoutObservations(t *testing.T) {
	if _, _, ok := Newcombe(0, 0, 1, 1, 0.95); ok {
		t.Error("no requests have an interval")
	}
	if low, high, ok := MeanInterval([]float64{2, 2, 2}, 0.95); !ok || low != 2 || high != 2 {
		t.Errorf("three times the same: %v..%v, %v", low, high, ok)
	}
}

// Of 0.76 and 0.77 one would be "0.76 (0.00 to 111995)" at 99 %, on a machine that
// is only a little less steady.
func TestTwoObservationsHaveNoInterval(t *testing.T) {
	for _, values := range [][]float64{nil, {1}, {1, 2}, {1, 1}} {
		if low, high, ok := MeanInterval(values, 0.99); ok {
			t.Errorf("%v have the interval %v to %v", values, low, high)
		}
	}
}

// What a 95 % interval promises, with noise as of two identical servers:
// symmetric, of whatever shape.
func TestMeanIntervalCoversTheTruth(t *testing.T) {
	const runs = 20_000
	rng := rand.New(rand.NewPCG(5, 5))
	for _, noise := range []struct {
		name string
		draw func() float64
	}{
		{"normal", rng.NormFloat64},
		{"heavy", func() float64 { return rng.ExpFloat64() - rng.ExpFloat64() }},
		{"outliers", func() float64 { return rng.NormFloat64() * []float64{1, 5}[rng.IntN(10)/9] }},
		{"in steps", func() float64 { return math.Round(rng.NormFloat64()) }},
	} {
		for _, n := range []int{3, 5, 10} {
			covered := 0
			values := make([]float64, n)
			for range runs {
				for i := range values {
					values[i] = noise.draw()
				}
				if low, high, _ := MeanInterval(values, 0.95); low <= 0 && 0 <= high {
					covered++
				}
			}
			share := float64(covered) / runs
			t.Logf("%-8s %2d repetitions: %.1f %%", noise.name, n, 100*share)
			if share < 0.945 { // three standard errors of this simulation below 95 %
				t.Errorf("%s, %d repetitions: the interval contains the truth in %.1f %%", noise.name, n, 100*share)
			}
		}
	}
}
