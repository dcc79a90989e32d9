package report

import (
	"slices"

	"piecebench/bench/compare"
)

// intervals is what the intervals of comparisons are called.
var intervals = wholePercent(compare.Confidence) + " interval"

// term is a word and its meaning.
type term struct{ Name, Meaning string }

// terms are the words of every report, in the sense of docs/METHODOLOGY.md.
var terms = []term{
	{"goodput", "payload bytes that arrived inside the measured window / window, of requests that succeeded or were cut without a fault. Bytes of failed requests are none."},
	{"ceiling", "the most goodput that the link was measured to carry on this machine, before its cells ran."},
	{"ratio", "of two targets’ goodput: of the same repetitions, the geometric mean; with several, in brackets its " + intervals + ". " + machineMark + ": the host, the generator or the emulated link limited one of the two, so the ratio does not show how they differ."},
	{"TTFB", "from the request written to the first byte of the response."},
	{"duration", "from the start of the request to its last byte."},
	{"p50, p95, p99", "the time within which that per cent of requests got there. Requests that were cut or failed count as longer than they were seen " +
		"(Kaplan-Meier); where they make a quantile unknowable, it is a lower bound: > 12.0 s."},
	{"success", "ok / (ok + failed). ok is the right status, the right range and exactly the right bytes."},
	{"cut", "still running when the window closed: neither ok nor failed."},
	{"limited by", "what the cell ran into: the link, the server’s CPU, the server (slow, with CPU to spare), the generator, the host that all share, the emulator of the link, " +
		"or latency (too few clients for the path). – is not known. The rules are in docs/METHODOLOGY.md."},
}

// costTerm is of reports with prices.
var costTerm = term{"cost per TB", "of 10^12 bytes of payload, in the currency of the prices: the price of a GB of egress x 1000, and the price of a server’s hour x the hours " +
	"that one takes at the cell’s goodput. Bytes of headers and retransmissions, which a bill may count too, are not in it; nor is anything but the prices given."}

// phasesTerm is of the page, which alone shows phases.
var phasesTerm = term{"connect, TLS, waiting, receiving", "where the time of an ok request went, in the mean. Waiting is TTFB; receiving is the rest of its duration. Of a redirected request these are its last hop’s, and redirects is all before. " +
	"Cut requests, which are the longest, are not among them."}

// terms are the words of this report.
func (v *view) terms() []term {
	if v.costs() == nil {
		return terms
	}
	return append(slices.Clone(terms), costTerm)
}

// comparisonTerms are the words of a comparison.
var comparisonTerms = []term{
	{"ratio", "each repetition of the one over the same repetition of the other, their geometric mean. Of the success rate: the difference of the shares, in percentage points."},
	{intervals, "of the ratio, by Student’s t from the logarithms of the repetitions’ ratios; of success rates by Newcombe, from the counts. It covers the noise between repetitions, not what was different all the time."},
	{"better, worse", "the interval does not contain “no difference”."},
	{"no difference", "the interval contains it, and lies within the margin that the answer names: a larger difference is excluded."},
	{"unclear", "neither: the interval is wider than that, or there is none, for want of three repetitions or because cut requests leave only bounds."},
	{"not judged", "the machine that measured decided the figure of a side: the host, the generator or the emulated link limited it or, of TTFB and durations, the emulated delay was late."},
	{"> and <", "cut requests leave only a bound: the value is at least, or at most, this."},
}
