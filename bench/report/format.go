package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"piecebench/bench/result"
)

// missing stands where a figure does not exist.
const missing = "–"

// megabits writes a rate in Mbit/s with about three digits.
func megabits(bits float64) string { return threeDigits(bits / 1e6) }

func threeDigits(v float64) string {
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

// percent writes a share. Only exactly everything is "100 %", and only
// exactly nothing "0 %": 9,999 of 10,000 requests must not look like all.
func percent(share float64) string {
	switch {
	case share == 0 || share == 1:
		return fmt.Sprintf("%.0f %%", 100*share)
	case share > 0.999 && share < 1:
		return fmt.Sprintf("%.2f %%", math.Floor(share*1e4)/1e2)
	case share < 0.001:
		return fmt.Sprintf("%.2f %%", math.Ceil(share*1e4)/1e2)
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}

// wholePercent writes a share where a tenth of a per cent is below the noise.
func wholePercent(share float64) string {
	if share > 0 && share < 0.01 {
		return fmt.Sprintf("%.1f %%", 100*share)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// duration writes milliseconds in ms, or s from one second on.
func duration(ms float64) string {
	if ms >= 999.5 {
		return threeDigits(ms/1000) + " s"
	}
	return threeDigits(ms) + " ms"
}

// quantile writes a quantile, or its lower bound as "> 12.0 s". warmup marks
// one that includes requests of the warm-up.
func quantile(q *result.Quantile, warmup bool) string {
	if q == nil {
		return missing
	}
	text := duration(q.Ms)
	if q.Bound {
		text = "> " + text
	}
	if warmup {
		text += " " + warmupMark
	}
	return text
}

const warmupMark = "†"

// linkName is a link as asked for, or that there was none.
func linkName(name string) string {
	if name == "none" {
		return "no emulated link"
	}
	return name
}

func clients(n int) string {
	if n == 1 {
		return "1 client"
	}
	return strconv.Itoa(n) + " clients"
}

// count writes a number with its noun: "1 cell", "3 cells".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// printable replaces what would move a terminal's cursor or break a line:
// names and error texts come from outside.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, s)
}
