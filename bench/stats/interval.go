package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// LeastForInterval is how many observations an interval needs. With two, Student's t has one
// degree of freedom, and the factor at 99 % is 64: the interval is too wide to be useful.
const LeastForInterval = 3

// MeanInterval returns Student's t interval of a mean from independent observations, at a
// confidence level such as 0.95. ok is false below LeastForInterval observations.
//
// A bootstrap does not work with few observations. Percentile and BCa intervals never leave the
// range of the observations: with five, they miss the true value at least once in 16 times,
// whatever the level. Bootstrap-t divides by spreads of resamples that nearly repeat one value.
// docs/METHODOLOGY.md has the measured coverage.
func MeanInterval(values []float64, level float64) (low, high float64, ok bool) {
	if len(values) < LeastForInterval {
		return 0, 0, false
	}
	mean, se := meanError(values)
	q := distuv.StudentsT{Sigma: 1, Nu: float64(len(values) - 1)}.Quantile((1 + level) / 2)
	return mean - q*se, mean + q*se, true
}

// meanError returns the mean and its standard error.
func meanError(values []float64) (mean, se float64) {
	mean, deviation := stat.MeanStdDev(values, nil)
	return mean, stat.StdErr(deviation, float64(len(values)))
}

// Newcombe returns the interval of the difference of two shares, k2/n2 - k1/n1, at a confidence
// level, from their Wilson intervals (method 10 of Newcombe, Stat. Med. 17, 1998). ok is false
// where one of them has no observations.
func Newcombe(k1, n1, k2, n2 int64, level float64) (low, high float64, ok bool) {
	if n1 <= 0 || n2 <= 0 {
		return 0, 0, false
	}
	p1, p2 := float64(k1)/float64(n1), float64(k2)/float64(n2)
	low1, high1 := Wilson(k1, n1, level)
	low2, high2 := Wilson(k2, n2, level)
	return p2 - p1 - math.Hypot(p2-low2, high1-p1), p2 - p1 + math.Hypot(high2-p2, p1-low1), true
}
