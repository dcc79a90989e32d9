package bottleneck

import (
	"piecebench/bench/result"
	"piecebench/records"
)

// DecidedByMachine tells whether the measuring machine limited a cell: its CPUs, the
// generator or the emulated link. Such a cell cannot show how two servers differ. A cell
// whose requests mostly fail is not among them: the server's errors keep the generator busy.
func DecidedByMachine(c result.Cell) bool {
	switch c.LimitedBy {
	case Emulator:
		return true
	case Host, Generator:
		return !Failing(c)
	}
	return false
}

// TimesDecidedByMachine tells the same for TTFB and duration. A late delay line makes them
// longer, whatever limited the cell.
func TimesDecidedByMachine(c result.Cell) bool { return DecidedByMachine(c) || Late(c) }

// Late tells whether at least LateShare of the packets were late.
func Late(c result.Cell) bool {
	return c.Evidence != nil && c.Evidence.Emulator != nil && c.Evidence.Emulator.Late >= LateShare
}

// Failing tells whether at least half of the requests that ended failed, or all did, and
// they are charged to the server.
func Failing(c result.Cell) bool {
	failed := Charged(c)
	return failed > 0 && (failed >= c.RequestsOK || c.WindowBytes == 0)
}

// Charged returns how many failed requests are the server's fault. In a cell that the
// emulator limited, requests that TCP lost on the way are the link's. A wrong answer is
// always the server's.
func Charged(c result.Cell) int64 {
	if c.LimitedBy != Emulator {
		return c.RequestsFailed()
	}
	return c.RequestsFailed() - lostOnTheWay(c)
}

func lostOnTheWay(c result.Cell) (n int64) {
	for _, o := range []records.Outcome{records.Connect, records.Reset, records.Timeout, records.Stalled, records.Short} {
		n += int64(c.Failed[o])
	}
	return n
}
