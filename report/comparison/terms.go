package comparison

import "piecebench/report"

var terms = []report.Term{
	{Name: "row", Meaning: "a link, a mode, a number of clients and a target, with all repetitions of both sides."},
	{Name: "ratio", Meaning: "each repetition of one side over the same repetition of the other, as their geometric mean. Of the success rate: the difference of the shares, in percentage points."},
	{Name: report.Intervals, Meaning: "of the ratio, by Student’s t from the logarithms of the repetitions’ ratios; of success rates by Newcombe, from the counts. It covers the noise between repetitions, not what was different all the time."},
	{Name: "better, worse", Meaning: "the interval does not contain “no difference”."},
	{Name: "no difference", Meaning: "the interval contains it, and lies within the margin that the answer names: a larger difference is excluded."},
	{Name: "unclear", Meaning: "neither: the interval is wider than that, or there is none, because there are fewer than three repetitions or cut requests leave only bounds."},
	{Name: "not judged", Meaning: "the measuring machine decided the figure of a side: the host, the generator or the emulated link limited it or, of TTFB and duration, the emulated delay was late."},
	{Name: "> and <", Meaning: "cut requests leave only a bound: the value is at least, or at most, this."},
}
