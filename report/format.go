package report

import (
	"strconv"
	"strings"

	"piecebench/bench/readable"
	"piecebench/bench/result"
)

// missing stands where a figure does not exist.
const missing = "–"

// What other packages write too, they write alike.
var (
	threeDigits  = readable.ThreeDigits
	megabits     = readable.Megabits
	duration     = readable.Duration
	percent      = readable.Percent
	wholePercent = readable.WholePercent
)

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
