package plan

import (
	"time"

	"piecebench/bench/settings"
)

// Outlook is what is known of a cell before it runs.
type Outlook struct {
	Cell
	Ideal     time.Duration // of one request or job, see Ideal; 0 where the link has no rate
	SlowStart time.Duration // the least that TCP needs for one request on a new connection; 0 of a job
	MostBytes float64       // see MostBytes; 0 where the link has no rate
	// Needs is the least DURATION, in whole seconds, in which every client could
	// have a request from its start to its end; 0 if the cell's is enough.
	Needs time.Duration
}

// Least returns the least time of a request: Ideal or SlowStart, whichever dominates.
func (o Outlook) Least() time.Duration { return max(o.Ideal, o.SlowStart) }

// SlowStartDominates says whether a request, alone on a new connection, takes at
// least twice as long as the link's rate explains.
func (o Outlook) SlowStartDominates() bool { return o.SlowStart > 0 && o.SlowStart >= 2*o.Ideal }

// Outlooks returns the outlook of every cell of the sweep, in its order.
func Outlooks(s settings.Settings) []Outlook {
	var list []Outlook
	for _, c := range Cells(s) {
		o := Outlook{
			Cell:      c,
			Ideal:     Ideal(c, s),
			MostBytes: MostBytes(c, s),
		}
		if c.Mode.Requests == 1 {
			o.SlowStart = c.Link.SlowStart(int64(unitBytes(c, s)), c.Link.Delay)
		}
		if all := o.Least() * time.Duration(max(1, s.Requests)); all > s.Duration {
			o.Needs = all.Truncate(time.Second) + time.Second
		}
		list = append(list, o)
	}
	return list
}
