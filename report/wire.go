package report

import (
	"fmt"

	"piecebench/bench/result"
	"piecebench/bench/stats"
)

// Overhead is the share by which wire bytes exceed the delivered payload, false where either
// is not known or 0.
func (f *Figures) Overhead() (float64, bool) {
	if f.Wire <= 0 || f.Delivered <= 0 {
		return 0, false
	}
	return f.Wire/f.Delivered - 1, true
}

// overheadText writes the overhead.
func (f *Figures) overheadText() string {
	if overhead, ok := f.Overhead(); ok {
		return percent(overhead)
	}
	return Missing
}

// sentAgain says how many of the servers' TCP segments were retransmissions, and how many
// packets the link lost. Wire bytes must be known.
func (f *Figures) sentAgain() string {
	var w result.Wire
	for _, c := range f.Cells {
		w.Segments += c.Evidence.Wire.Segments
		w.Retransmitted += c.Evidence.Wire.Retransmitted
		w.LostPackets += c.Evidence.Wire.LostPackets
	}
	text := ""
	if w.Segments > 0 {
		text = "; " + percent(float64(w.Retransmitted)/float64(w.Segments)) + " of the segments sent again"
	}
	if w.LostPackets > 0 {
		text += ", " + count(int(w.LostPackets), "packet") + " lost by the link’s loss"
	}
	return text
}

// wired counts the figures of which wire bytes are known.
func (v *View) wired() (n int) {
	for _, f := range All(v.Rows) {
		if f.Wire > 0 {
			n++
		}
	}
	return n
}

// overhead says how much more than the payload went over the wire.
func (v *View) overhead() string {
	var all []compared
	for _, f := range All(v.Rows) {
		if overhead, ok := f.Overhead(); ok {
			all = append(all, compared{f, stats.Exactly(overhead)})
		}
	}
	if len(all) == 0 {
		return ""
	}
	median, worst, of := spread(all, true)
	const says = "Headers and retransmissions added "
	if len(all) == 1 {
		return says + percent(median.Low) + " to the payload."
	}
	return fmt.Sprintf("%s%s to the payload in the median row and %s in the worst (%s, %s).", says, percent(median.Low), percent(worst.Low), of.Target, of.Row)
}
