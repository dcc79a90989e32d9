package stats

import "gonum.org/v1/gonum/stat/distuv"

// ShareAtLeast returns the one-sided lower bound of a share of which k of n were seen, at a
// confidence level such as 0.95 (Clopper and Pearson, Biometrika 26, 1934). It is exact: the true
// share is below it in at most 1-level of all cases, whatever it is. For k = 0 it is 0.
func ShareAtLeast(k, n int64, level float64) float64 {
	if k <= 0 || n <= 0 {
		return 0
	}
	return distuv.Beta{Alpha: float64(k), Beta: float64(n-k) + 1}.Quantile(1 - level)
}

// MoreForShare returns how many more observations, all of them good, it takes until the lower
// bound of ShareAtLeast reaches a share. It is 0 if the bound is there already.
func MoreForShare(k, n int64, share, level float64) int64 {
	enough := func(more int64) bool { return ShareAtLeast(k+more, n+more, level) >= share }
	most := int64(1)
	for !enough(most) && most < 1<<40 {
		most *= 2
	}
	low := int64(-1) // is not enough
	for most-low > 1 {
		if middle := low + (most-low)/2; enough(middle) {
			most = middle
		} else {
			low = middle
		}
	}
	return most
}
