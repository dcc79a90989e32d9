// Package readable writes figures as people read them, so that the same figure
// looks the same in a report, a comparison and on the terminal.
// Files that programs read (cells.csv, run.json) have their own digits.
package readable

import (
	"math"
	"strconv"
	"strings"
)

// ThreeDigits writes a number of at least 0 with about three digits: 0.05,
// 9.99, 10.0, 957.
func ThreeDigits(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// Megabits writes a rate in bit/s as Mbit/s (10^6), without the unit.
func Megabits(bits float64) string { return ThreeDigits(bits / 1e6) }

// Duration writes milliseconds in ms, or s from one second on.
func Duration(ms float64) string {
	if ms >= 999.5 {
		return ThreeDigits(ms/1000) + " s"
	}
	return ThreeDigits(ms) + " ms"
}

// Percent writes a share where a tenth of a per cent counts, as it does of
// success. Only exactly everything is "100 %", and only exactly nothing "0 %":
// 9,999 of 10,000 requests must not look like all.
func Percent(share float64) string {
	switch {
	case share == 0 || share == 1:
		return WholePercent(share)
	case share > 0.999 && share < 1:
		return strconv.FormatFloat(math.Floor(share*1e4)/1e2, 'f', 2, 64) + " %"
	case share < 0.001:
		return strconv.FormatFloat(math.Ceil(share*1e4)/1e2, 'f', 2, 64) + " %"
	}
	return strconv.FormatFloat(100*share, 'f', 1, 64) + " %"
}

// WholePercent writes a share where a tenth of a per cent is below the noise:
// "95 %", below 1 % with one digit that is not 0: "0.4 %", "0.02 %". A hundredth
// of a per cent is the least that is not nothing.
func WholePercent(share float64) string {
	places := 0
	switch percent := math.Abs(100 * share); {
	case percent == 0 || percent >= 0.95:
	case percent >= 0.095:
		places = 1
	default:
		places, share = 2, math.Copysign(max(percent, 0.01)/100, share)
	}
	return strconv.FormatFloat(100*share, 'f', places, 64) + " %"
}

// greatestRatio is where the upper end of a ratio's interval says nothing.
const greatestRatio = 1e5

// Interval writes the interval of a ratio: "0.95 to 1.05". An end that says nothing
// is left out: a lower one that reads as 0, an upper one of 100,000 and beyond. What
// is left is "> 0.95" or "< 1.05", or "not known".
func Interval(low, high float64, write func(float64) string) string {
	fromBelow, fromAbove := strings.Trim(write(low), "0.") != "", high < greatestRatio
	switch {
	case fromBelow && fromAbove:
		return write(low) + " to " + write(high)
	case fromBelow:
		return "> " + write(low)
	case fromAbove:
		return "< " + write(high)
	}
	return "not known"
}

// Ratio writes a ratio with three decimals, and a large one with three digits.
func Ratio(v float64) string {
	if v < 10 {
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return ThreeDigits(v)
}

// Count writes a number with its noun: "1 cell", "3 cells".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
