package stats

import (
	"math"
	"slices"
)

// Range is a value, or bounds of one. Low and High are equal for a known value. High is +Inf for
// a lower bound, and Low is 0 for an upper bound.
type Range struct{ Low, High float64 }

// Exactly is a known value.
func Exactly(v float64) Range { return Range{v, v} }

// AtLeast is a lower bound.
func AtLeast(v float64) Range { return Range{v, math.Inf(1)} }

// Known tells whether the value is known.
func (r Range) Known() bool { return r.Low == r.High }

// Median returns the median of values that are at least 0, or its bounds: the medians of the
// lower and of the upper ends. For >500, 800 and 900 it is 800 to 900. For an even number of
// values it is the mean of the middle two. ok is false without values.
func Median(values []Range) (m Range, ok bool) {
	return ofMiddle(values, func(sorted []float64) float64 {
		n := len(sorted)
		return (sorted[(n-1)/2] + sorted[n/2]) / 2
	})
}

// Middle is like Median, but takes the greater of the middle two.
func Middle(values []Range) (m Range, ok bool) {
	return ofMiddle(values, func(sorted []float64) float64 { return sorted[len(sorted)/2] })
}

// Greatest returns the greatest value, or its bounds.
func Greatest(values []Range) (m Range, ok bool) {
	return ofMiddle(values, func(sorted []float64) float64 { return sorted[len(sorted)-1] })
}

func ofMiddle(values []Range, of func(sorted []float64) float64) (Range, bool) {
	if len(values) == 0 {
		return Range{}, false
	}
	low, high := make([]float64, len(values)), make([]float64, len(values))
	for i, v := range values {
		low[i], high[i] = v.Low, v.High
	}
	slices.Sort(low)
	slices.Sort(high)
	return Range{of(low), of(high)}, true
}
