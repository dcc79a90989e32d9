package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Wilson returns the score interval of the share k/n at a confidence level such as 0.95 (Wilson,
// J. Am. Stat. Assoc. 22, 1927). Unlike the textbook interval it stays inside [0, 1] and has a
// width for k = 0 and k = n. For n = 0 it is [0, 1].
func Wilson(k, n int64, level float64) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	z := distuv.UnitNormal.Quantile((1 + level) / 2)
	p, m, z2 := float64(k)/float64(n), float64(n), z*z
	centre := (p + z2/(2*m)) / (1 + z2/m)
	half := z / (1 + z2/m) * math.Sqrt(p*(1-p)/m+z2/(4*m*m))
	low, high = max(0, centre-half), min(1, centre+half)
	if k <= 0 {
		low = 0
	}
	if k >= n {
		high = 1
	}
	return low, high
}
