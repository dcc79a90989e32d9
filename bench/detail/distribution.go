package detail

import "piecebench/bench/stats"

// Distribution is an estimated distribution function (Kaplan and Meier).
type Distribution struct {
	Steps []Step
	// EndMs is the greatest age. Where cut or failed requests leave the last share below 1,
	// nothing is known beyond it.
	EndMs float64
}

// Step is where a distribution function rises to Share (0 to 1).
type Step struct{ Ms, Share float64 }

// thinned are the shares at which the steps of a long distribution are kept, beside its first and
// last step. At these shares the curve shows the exact quantile, and between them it is off by at
// most 1 % of the requests, whatever its shape.
var thinned = func() (shares []float64) {
	for percent := 1; percent <= 99; percent++ {
		shares = append(shares, float64(percent)/100)
	}
	return append(shares, 0.995, 0.999, 0.9999)
}()

func distributionOf(s *stats.Survival) Distribution {
	n := 0
	for range s.Steps() {
		n++
	}
	var d Distribution
	d.EndMs, _, _ = s.Quantile(1)
	next, i := 0, 0
	for ms, share := range s.Steps() {
		i++
		keep := n <= len(thinned) || i == 1 || i == n
		for next < len(thinned) && stats.Reaches(share, thinned[next]) {
			next++
			keep = true
		}
		if keep {
			d.Steps = append(d.Steps, Step{ms, share})
		}
	}
	return d
}
