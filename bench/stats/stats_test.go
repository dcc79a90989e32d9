package stats

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// reference holds what lifelines, scipy, numpy and statsmodels say; testdata/reference.py made it.
type reference struct {
	Censored []struct {
		Name      string
		Ages      []float64
		Censored  []bool
		Quantiles []refQuantile
	}
	Complete []struct {
		Values    []float64
		Quantiles []refQuantile
	}
	Wilson []struct {
		K, N      int64
		Low, High float64
	}
	Means []struct {
		Values           []float64
		Level, Low, High float64
	}
	Newcombe []struct {
		K1, N1, K2, N2   int64
		Level, Low, High float64
	}
}

type refQuantile struct {
	P     float64
	Value *float64
}

func loadReference(t *testing.T) reference {
	t.Helper()
	data, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var ref reference
	if err := json.Unmarshal(data, &ref); err != nil {
		t.Fatal(err)
	}
	if len(ref.Censored) == 0 || len(ref.Complete) == 0 || len(ref.Wilson) == 0 || len(ref.Means) == 0 || len(ref.Newcombe) == 0 {
		t.Fatal("testdata/reference.json lacks cases")
	}
	return ref
}

func TestCensoredQuantilesAgreeWithLifelines(t *testing.T) {
	for _, c := range loadReference(t).Censored {
		var s Survival
		for i, age := range c.Ages {
			if c.Censored[i] {
				s.Censored(age)
			} else {
				s.Ended(age)
			}
		}
		for _, want := range c.Quantiles {
			got, bound, ok := s.Quantile(want.P)
			switch {
			case !ok:
				t.Errorf("%s p%v: no quantile", c.Name, want.P)
			case want.Value == nil && (!bound || got != slices.Max(c.Ages)):
				t.Errorf("%s p%v: got %v (bound %v), want a bound at the greatest age", c.Name, want.P, got, bound)
			case want.Value != nil && (bound || got != *want.Value):
				t.Errorf("%s p%v: got %v (bound %v), want %v", c.Name, want.P, got, bound, *want.Value)
			}
		}
	}
}

func TestCompleteQuantilesAreTheInverseOfTheDistributionFunction(t *testing.T) {
	for _, c := range loadReference(t).Complete {
		var s Survival
		for _, v := range c.Values {
			s.Ended(v)
		}
		for _, want := range c.Quantiles {
			if got, bound, ok := s.Quantile(want.P); got != *want.Value || bound || !ok {
				t.Errorf("n=%d p%v: got %v, want %v", len(c.Values), want.P, got, *want.Value)
			}
		}
	}
}

// Every rank of every size, where rounding is most likely to pick a neighbour.
func TestQuantilePicksTheExactRank(t *testing.T) {
	for n := 1; n <= 300; n++ {
		var s Survival
		for i := 1; i <= n; i++ {
			s.Ended(float64(i))
		}
		for rank := 1; rank < n; rank++ {
			if got, _, _ := s.Quantile(float64(rank) / float64(n)); got != float64(rank) {
				t.Fatalf("n=%d rank %d: got %v", n, rank, got)
			}
		}
	}
}

func TestQuantileOfNothing(t *testing.T) {
	var s Survival
	if _, _, ok := s.Quantile(0.5); ok {
		t.Error("a quantile of no observations exists")
	}
}

func TestObservationsMayBeAddedAfterAQuantile(t *testing.T) {
	var s Survival
	s.Ended(10)
	s.Quantile(0.5)
	s.Ended(1)
	s.Ended(2)
	if got, _, _ := s.Quantile(0.5); got != 2 {
		t.Errorf("median of 10, 1, 2 is %v", got)
	}
}

// The purpose of all this: cutting 40 % of the requests at random must not
// move the quantiles of the others, as dropping them would.
func TestRandomCutsDoNotBiasQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var s Survival
	var kept []float64
	const n = 200_000
	for range n {
		age, cut := rng.ExpFloat64(), rng.ExpFloat64()*1.5
		if age <= cut {
			s.Ended(age)
			kept = append(kept, age)
		} else {
			s.Censored(cut)
		}
	}
	if share := 1 - float64(len(kept))/n; share < 0.35 {
		t.Fatalf("only %.0f %% cut: the test lost its point", share*100)
	}
	for _, p := range []float64{0.5, 0.95} {
		truth := -math.Log(1 - p)
		if got, bound, _ := s.Quantile(p); bound || math.Abs(got/truth-1) > 0.02 {
			t.Errorf("p%v: got %v (bound %v), truth %v", p, got, bound, truth)
		}
	}
	slices.Sort(kept)
	if m := kept[len(kept)/2]; m > 0.95*math.Ln2 {
		t.Errorf("dropping cut requests gives %v: the test lost its point", m)
	}
}

func TestWilsonAgreesWithScipy(t *testing.T) {
	for _, c := range loadReference(t).Wilson {
		low, high := Wilson(c.K, c.N, 0.95)
		if math.Abs(low-c.Low) > 1e-12 || math.Abs(high-c.High) > 1e-12 {
			t.Errorf("%d of %d: got %v..%v, want %v..%v", c.K, c.N, low, high, c.Low, c.High)
		}
	}
	if low, high := Wilson(0, 0, 0.95); low != 0 || high != 1 {
		t.Errorf("0 of 0: got %v..%v, want 0..1", low, high)
	}
}

func BenchmarkQuantileOfAMillion(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range b.N {
		s := Survival{obs: make([]observation, 0, 1_000_000)}
		for range 1_000_000 {
			if rng.IntN(5) == 0 {
				s.Censored(rng.ExpFloat64())
			} else {
				s.Ended(rng.ExpFloat64())
			}
		}
		s.Quantile(0.99)
	}
}

func TestMeanAndExtremes(t *testing.T) {
	same := func(age float64) float64 { return age }
	rate := func(age float64) float64 { return 1 / age }
	for _, c := range []struct {
		name            string
		ended, censored []float64
		of              func(float64) float64
		mean            float64
		bound           bool
		least, greatest float64
		greatestBound   bool
	}{
		{"without censoring", []float64{4, 1, 2, 1}, nil, same, 2, false, 1, 4, false},
		// The share that the one censored at 1.5 stands for goes to 2 and 4, which come after it.
		{"censored in between", []float64{1, 2, 4}, []float64{1.5}, same, 0.25*1 + 0.375*2 + 0.375*4, false, 1, 4, false},
		{"the greatest is censored", []float64{1, 2}, []float64{10, 5}, same, 0.25*1 + 0.25*2 + 0.5*10, true, 1, 10, true},
		{"a falling function of it", []float64{1, 2}, []float64{10, 5}, rate, 0.25 + 0.25/2 + 0.5/10, true, 1, 10, true},
		{"nothing ended", nil, []float64{3, 8}, same, 8, true, 8, 8, true},
	} {
		var s Survival
		for _, age := range c.ended {
			s.Ended(age)
		}
		for _, age := range c.censored {
			s.Censored(age)
		}
		if mean, bound, ok := s.Mean(c.of); !ok || math.Abs(mean-c.mean) > 1e-12 || bound != c.bound {
			t.Errorf("%s: mean %v, bound %v, %v; want %v, %v", c.name, mean, bound, ok, c.mean, c.bound)
		}
		if least, _, _ := s.Quantile(0); least != c.least {
			t.Errorf("%s: the least is %v, want %v", c.name, least, c.least)
		}
		if greatest, bound, _ := s.Quantile(1); greatest != c.greatest || bound != c.greatestBound {
			t.Errorf("%s: the greatest is %v, bound %v; want %v, %v", c.name, greatest, bound, c.greatest, c.greatestBound)
		}
	}
	if _, _, ok := new(Survival).Mean(same); ok {
		t.Error("nothing was seen, and there is a mean")
	}
}
