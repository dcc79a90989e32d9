package bottleneck

import (
	"piecebench/bench/result"
	"piecebench/records"
)

// DecidedByMachine tells that what a cell came to was decided by the machine that
// measured: its CPUs, the generator, or the emulated link. Two servers cannot show
// there how they differ. A server that mostly fails keeps a generator busy with its
// errors: that is the server's doing.
func DecidedByMachine(c result.Cell) bool {
	switch c.LimitedBy {
	case Emulator:
		return true
	case Host, Generator:
		return !Failing(c)
	}
	return false
}

// TimesDecidedByMachine tells the same of TTFB and durations, which a late delay
// line makes longer whatever limited the cell.
func TimesDecidedByMachine(c result.Cell) bool { return DecidedByMachine(c) || Late(c) }

// Late tells that the emulated delay was too long for at least LateShare of the
// packets.
func Late(c result.Cell) bool {
	return c.Evidence != nil && c.Evidence.Emulator != nil && c.Evidence.Emulator.Late >= LateShare
}

// Failing tells that at least half of the requests that ended failed, or that
// nothing but failures came, and that they are charged to the server.
func Failing(c result.Cell) bool {
	failed := Charged(c)
	return failed > 0 && (failed >= c.RequestsOK || c.WindowBytes == 0)
}

// Charged returns how many failed requests are the server's. Where the emulated
// link was not what it was set to, requests that TCP lost on the way are the link's;
// a wrong answer is the server's everywhere.
func Charged(c result.Cell) int64 {
	if c.LimitedBy != Emulator {
		return c.RequestsFailed()
	}
	return c.RequestsFailed() - lostOnTheWay(c)
}

func lostOnTheWay(c result.Cell) (n int64) {
	for _, o := range []records.Outcome{records.Connect, records.Reset, records.Timeout, records.Stalled, records.Short} {
		n += int64(c.Failed[string(o)])
	}
	return n
}
