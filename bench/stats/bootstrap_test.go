package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// The bootstraps of Efron and Tibshirani (An Introduction to the Bootstrap,
// 1993, chapters 12 to 14) for the interval of a mean: what MeanInterval is not,
// and what it would cost. go test -v -run Bootstrap ./bench/stats prints the
// table that docs/METHODOLOGY.md has.
func TestBootstrapsOfFewRepetitionsCoverLessThanStudent(t *testing.T) {
	const runs, level = 2000, 0.95
	rng := rand.New(rand.NewPCG(7, 7))
	t.Log("repetitions  noise     percentile   BCa  bootstrap-t  Student's t")
	for _, n := range []int{5, 10} {
		for _, noise := range []struct {
			name string
			draw func() float64
		}{{"normal", rng.NormFloat64}, {"in steps", func() float64 { return math.Round(rng.NormFloat64()) }}} {
			var covered [4]float64
			values := make([]float64, n)
			for range runs {
				for i := range values {
					values[i] = noise.draw()
				}
				b := bootstrap(rng, values)
				for i, interval := range []func(float64) (float64, float64){b.percentile, b.bca, b.studentised, student(values)} {
					if low, high := interval(level); low <= 0 && 0 <= high {
						covered[i] += 1.0 / runs
					}
				}
			}
			t.Logf("%11d  %-8s  %8.0f %%  %2.0f %%  %9.0f %%  %9.0f %%", n, noise.name, 100*covered[0], 100*covered[1], 100*covered[2], 100*covered[3])
			if best := max(covered[0], covered[1]); covered[3] < 0.935 || best > covered[3]-0.01 {
				t.Errorf("%d repetitions, %s: Student's t covers %.1f %%, percentile or BCa %.1f %%", n, noise.name, 100*covered[3], 100*best)
			}
		}
	}
}

func student(values []float64) func(level float64) (low, high float64) {
	return func(level float64) (low, high float64) {
		low, high, _ = MeanInterval(values, level)
		return low, high
	}
}

// resamples are what a bootstrap of a mean is computed from.
type resamples struct {
	values   []float64
	mean, se float64
	means    []float64 // of the resamples, sorted
	t        []float64 // their distances from mean in their own standard errors, sorted
}

func bootstrap(rng *rand.Rand, values []float64) resamples {
	const count = 1000
	b := resamples{values: values}
	b.mean, b.se = meanError(values)
	one := make([]float64, len(values))
	for range count {
		for i := range one {
			one[i] = values[rng.IntN(len(values))]
		}
		mean, se := meanError(one)
		b.means = append(b.means, mean)
		if se > 0 {
			b.t = append(b.t, (mean-b.mean)/se)
		}
	}
	slices.Sort(b.means)
	slices.Sort(b.t)
	return b
}

// at returns the value of rank p, 0 to 1, of sorted values.
func at(sorted []float64, p float64) float64 {
	i := int(math.Ceil(p*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

func (b resamples) percentile(level float64) (low, high float64) {
	return at(b.means, (1-level)/2), at(b.means, (1+level)/2)
}

// bca is the percentile interval, bias-corrected and accelerated.
func (b resamples) bca(level float64) (low, high float64) {
	var below float64
	for _, m := range b.means {
		switch { // ties count half
		case m < b.mean-1e-12:
			below++
		case m < b.mean+1e-12:
			below += 0.5
		}
	}
	normal := distuv.UnitNormal
	z0 := normal.Quantile(below / float64(len(b.means)))
	// Of a mean, the jackknife's acceleration is the skewness of its values.
	var cubes, squares float64
	for _, v := range b.values {
		cubes += math.Pow(v-b.mean, 3)
		squares += (v - b.mean) * (v - b.mean)
	}
	if squares == 0 {
		return b.mean, b.mean
	}
	a := cubes / (6 * math.Pow(squares, 1.5))
	rank := func(p float64) float64 {
		z := z0 + normal.Quantile(p)
		return normal.CDF(z0 + z/(1-a*z))
	}
	return at(b.means, rank((1-level)/2)), at(b.means, rank((1+level)/2))
}

func (b resamples) studentised(level float64) (low, high float64) {
	if b.se == 0 {
		return b.mean, b.mean
	}
	return b.mean - at(b.t, (1+level)/2)*b.se, b.mean - at(b.t, (1-level)/2)*b.se
}
