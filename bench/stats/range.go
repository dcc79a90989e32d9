package stats

import (
	"math"
	"slices"
)

// Range is a value of which only bounds may be known: Low and High are equal where
// it is known, High is +Inf of a lower bound, Low is 0 of an upper one.
type Range struct{ Low, High float64 }

// Exactly is a value that is known.
func Exactly(v float64) Range { return Range{v, v} }

// AtLeast is a value of which only a lower bound is known.
func AtLeast(v float64) Range { return Range{v, math.Inf(1)} }

// Known tells that the value is.
func (r Range) Known() bool { return r.Low == r.High }

// Median returns what is known of the median of values that are at least 0: it lies
// between the median of their lower ends and that of their upper ends. Of >500, 800
// and 900 it is from 800, where the first is no more than 800, to 900. Of an even
// number it is the mean of the middle two. ok is false without values.
func Median(values []Range) (m Range, ok bool) {
	return ofMiddle(values, func(sorted []float64) float64 {
		n := len(sorted)
		return (sorted[(n-1)/2] + sorted[n/2]) / 2
	})
}

// Middle is Median, but of an even number the greater of the middle two.
func Middle(values []Range) (m Range, ok bool) {
	return ofMiddle(values, func(sorted []float64) float64 { return sorted[len(sorted)/2] })
}

// Greatest returns what is known of the greatest value.
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
