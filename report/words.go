package report

import (
	"strconv"
	"strings"

	"piecebench/bench/compare"
	"piecebench/bench/readable"
	"piecebench/bench/result"
)

// Missing stands where a figure does not exist.
const Missing = "–"

// Marks behind a figure, and the notes that explain them.
const (
	MachineMark = "‡"
	machineNote = MachineMark + " This machine limited one of the two, so the ratio does not show how they differ."
	warmupMark  = "†"
	WarmupNote  = warmupMark + " Fewer than one request per client began and ended inside the window, so these quantiles include requests of the warm-up."
)

// Intervals is what the intervals of comparisons are called.
var Intervals = wholePercent(compare.Confidence) + " interval"

// Figures look the same everywhere.
var (
	threeDigits  = readable.ThreeDigits
	megabits     = readable.Megabits
	duration     = readable.Duration
	percent      = readable.Percent
	wholePercent = readable.WholePercent
	count        = readable.Count
)

// Quantile writes a quantile, or its lower bound as "> 12.0 s". warmup marks one that
// includes requests of the warm-up.
func Quantile(q *result.Quantile, warmup bool) string {
	if q == nil {
		return Missing
	}
	text := duration(q.Ms)
	if q.Bound {
		text = "> " + text
	}
	return text + MarkWarmup(warmup)
}

// MarkWarmup is the mark of a figure that includes requests of the warm-up.
func MarkWarmup(warmup bool) string {
	if warmup {
		return " " + warmupMark
	}
	return ""
}

// ratio writes a ratio, its interval in brackets, and a mark where the machine decided it.
func ratio(e compare.Estimate) string {
	if !e.Known {
		return Missing
	}
	text := ratioAlone(e)
	if e.Interval {
		text += " (" + readable.Interval(1+e.Low, 1+e.High, threeDigits) + ")"
	}
	if !e.Judged() {
		text += " " + MachineMark
	}
	return text
}

// ratioAlone writes a ratio, or a bound of it.
func ratioAlone(e compare.Estimate) string {
	text := threeDigits(1 + e.Change)
	switch {
	case e.AtLeast:
		return "> " + text
	case e.AtMost:
		return "< " + text
	}
	return text
}

// NoInterval says why there is no interval of so many repetitions.
func NoInterval(repetitions int) string {
	if repetitions == 1 {
		return "One repetition allows no interval"
	}
	return "Two repetitions allow no interval"
}

// OrMissing writes text, or that there is none.
func OrMissing(text string) string {
	if text == "" {
		return Missing
	}
	return text
}

// Enumerate names the first few and counts the others.
func Enumerate(names []string) string {
	const few = 4
	if n := len(names) - few; n > 0 {
		names = append(names[:few:few], "and "+strconv.Itoa(n)+" more")
	}
	return strings.Join(names, "; ")
}

// Hidden writes how large a difference noise could hide.
func Hidden(share float64) string {
	if share >= 10 {
		return "more than tenfold"
	}
	return "up to " + wholePercent(share)
}

// Printable replaces characters that would move a terminal's cursor or break a line: names
// and error texts come from outside.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, s)
}
