package bottleneck

import (
	"fmt"
	"strings"

	"piecebench/bench/result"
	"piecebench/netem/link"
	"piecebench/records"
)

// Bounds of the rules.
const (
	linkFull      = 0.95 // of the link's ceiling; also of the generator's
	cpuFull       = 0.90 // of the CPUs that a program may use, or of one CPU by one thread
	quotaUsedUp   = 0.50 // of a quota's periods
	mostOf        = 0.65 // of all CPUs of a full machine: one program fills it
	droppedShare  = 0.05 // of packets, on a link that is not full and has no loss configured
	workShare     = 0.50 // of the time of jobs
	windowShare   = 0.50 // of the time with data to send
	waitShare     = 0.50 // of a request's duration, before its first byte
	queueMultiple = 1.5  // of the idle round trip
	openMultiple  = 2.0  // of the time of a request that TCP does not hold back
	floorMultiple = 2.0  // of the least time of a request
	unsentShare   = 0.50 // of connections on which TCP holds data back
	idleShare     = 0.80 // of connections on which the server has written nothing to send
)

// LateShare is the share of late packets (by more than 1 ms) at which a delay line's round
// trip is out of tolerance.
const LateShare = 0.50

// minRTTMs is the least round trip for the rules on waiting. Below it, as on a loopback,
// computing dominates the time of a request.
const minRTTMs = 1.0

// Rule is one row of the table.
type Rule struct {
	By   string // the bottleneck
	When string // as docs/METHODOLOGY.md has it
	// holds also returns the figures that show it, in words.
	holds func(result.Cell, result.Evidence) (because string, ok bool)
}

// Rules in their order: the first that holds names the bottleneck. A rule without the data
// that it needs is skipped.
var Rules = []Rule{
	{Emulator, fmt.Sprintf("the delay line held packets for more than %s or lost at least %s of them, and a connection made no progress or a request failed", heldAfter, percent(droppedShare)),
		func(c result.Cell, e result.Evidence) (string, bool) {
			if e.Emulator == nil {
				return "", false
			}
			because, stalled := fmt.Sprintf("the delay line held %d packets for more than %s and lost %s", e.Emulator.Held, heldAfter, percent(e.Emulator.Lost)), 0
			if e.TCP != nil {
				stalled = e.TCP.Stalled
				because += fmt.Sprintf("; %d connections made no progress, the longest for %s", stalled, milliseconds(e.TCP.OldestUnackedMs))
			}
			return because, (e.Emulator.Held > 0 || e.Emulator.Lost >= droppedShare) && (stalled > 0 || c.RequestsFailed() > 0)
		}},
	{Link, fmt.Sprintf("the delivered rate was at least %s of the ceiling of a link that is not host-limited, or of the most that the rate of any link allows", percent(linkFull)),
		func(c result.Cell, _ result.Evidence) (string, bool) {
			share, known := c.LinkUse()
			allowed := 0.0
			if spec, err := link.Parse(c.Link); err == nil {
				allowed = float64(spec.RateBits) * link.FullSizedShare
			}
			return percent(share) + " of the link’s ceiling",
				known && (!c.HostLimited && share >= linkFull || allowed > 0 && c.DeliveredBits() >= linkFull*allowed)
		}},
	{ServerCPU, fmt.Sprintf("the server's processes used at least %s of the CPUs that they may use, or a quota stopped them in at least %s of its periods, or one of their threads used at least %s of one CPU", percent(cpuFull), percent(quotaUsedUp), percent(cpuFull)),
		func(_ result.Cell, e result.Evidence) (string, bool) {
			return usedUp("the server", e.Server)
		}},
	{ServerCPU, fmt.Sprintf("all CPUs of the machine were at least %s busy, and the server's processes used at least %s of them", percent(cpuFull), percent(mostOf)),
		func(c result.Cell, e result.Evidence) (string, bool) {
			return tookMost("the server", e.Server, c, e)
		}},
	{Generator, fmt.Sprintf("k6 used at least %s of the CPUs that it may use, or a quota stopped it in at least %s of its periods", percent(cpuFull), percent(quotaUsedUp)),
		func(_ result.Cell, e result.Evidence) (string, bool) {
			return usedUp("k6", e.Generator)
		}},
	{Generator, fmt.Sprintf("all CPUs were at least %s busy, and k6 used at least %s of them", percent(cpuFull), percent(mostOf)),
		func(c result.Cell, e result.Evidence) (string, bool) {
			return tookMost("k6", e.Generator, c, e)
		}},
	{Host, fmt.Sprintf("all CPUs were at least %s busy", percent(cpuFull)),
		func(c result.Cell, e result.Evidence) (string, bool) {
			return busy(c, e), c.HostCPU >= cpuFull
		}},
	{ClientWork, fmt.Sprintf("the clients spent more than %s of the time of their jobs without a request: their local stages decide how fast they are", percent(workShare)),
		func(c result.Cell, _ result.Evidence) (string, bool) {
			if c.Jobs == nil {
				return "", false
			}
			work := 1 - c.Jobs.Share(records.Download)
			return fmt.Sprintf("in %s of the time of their jobs the clients had no request running", percent(work)) + stages(*c.Jobs), work > workShare
		}},
	{Generator, fmt.Sprintf("the delivered rate was at least %s of the generator's ceiling", percent(linkFull)),
		func(c result.Cell, e result.Evidence) (string, bool) {
			share := c.DeliveredBits() / float64(e.GeneratorBits)
			return percent(share) + " of the generator’s ceiling", e.GeneratorBits > 0 && share >= linkFull
		}},
	{Emulator, fmt.Sprintf("at least %s of the packets left the delay line more than 1 ms late, or it lost at least %s of them", percent(LateShare), percent(droppedShare)),
		func(_ result.Cell, e result.Evidence) (string, bool) {
			if e.Emulator == nil {
				return "", false
			}
			return fmt.Sprintf("%s of the delay line’s packets late by more than 1 ms, %s lost", percent(e.Emulator.Late), percent(e.Emulator.Lost)),
				e.Emulator.Late >= LateShare || e.Emulator.Lost >= droppedShare
		}},
	{Emulator, fmt.Sprintf("at least %s of the servers' packets found the link's queue full, and no loss was asked for", percent(droppedShare)),
		func(c result.Cell, e result.Evidence) (string, bool) {
			if e.Emulator == nil {
				return "", false
			}
			lossless := strings.Count(c.Link, "/") < 2
			return fmt.Sprintf("%s of the packets dropped by a link that was not full", percent(e.Emulator.Dropped)), lossless && e.Emulator.Dropped >= droppedShare
		}},
	{Generator, fmt.Sprintf("the clients' TCP window was full for at least %s of the time in which there was data to send: the clients read too slowly, or tcp_rmem is too small for the path", percent(windowShare)),
		func(_ result.Cell, e result.Evidence) (string, bool) {
			if e.TCP == nil {
				return "", false
			}
			return fmt.Sprintf("the clients’ TCP window was full for %s of the time", percent(e.TCP.ReceiverLimited)), e.TCP.ReceiverLimited >= windowShare
		}},
	{Server, fmt.Sprintf("the server's TCP send buffer was full for at least %s of that time: tcp_wmem, or the server's own setting, is too small for the path", percent(windowShare)),
		func(_ result.Cell, e result.Evidence) (string, bool) {
			if e.TCP == nil {
				return "", false
			}
			return fmt.Sprintf("the server’s TCP send buffer was full for %s of the time", percent(e.TCP.BufferLimited)), e.TCP.BufferLimited >= windowShare
		}},
	{Server, fmt.Sprintf("the median TTFB exceeds the round trip by more than one further round trip, by more than 1 ms, and by at least %s of the median duration", percent(waitShare)),
		func(c result.Cell, e result.Evidence) (string, bool) {
			ttfb, total := c.TTFB.P50, c.Duration.P50
			if ttfb == nil || total == nil || e.RTTMs <= 0 {
				return "", false
			}
			wait := ttfb.Ms - e.RTTMs
			// Where only a lower bound of the duration is known, the share is not, unless
			// no first byte came within that bound.
			most := ttfb.Bound || !total.Bound && wait >= waitShare*total.Ms
			return fmt.Sprintf("the median request waited %s for its first byte, beyond the round trip", milliseconds(wait)) + cpus(e),
				wait > max(e.RTTMs, minRTTMs) && most
		}},
	{Link, fmt.Sprintf("on at least %s of the connections TCP held back what the server had written, and the round trip was at least %g times the idle one: the link had a standing queue", percent(unsentShare), queueMultiple),
		func(c result.Cell, e result.Evidence) (string, bool) {
			if e.TCP == nil || c.HostLimited || e.RTTMs < minRTTMs {
				return "", false
			}
			share, _ := c.LinkUse()
			return fmt.Sprintf("the link’s queue stood: the round trip was %s, idle %s (%s of the link’s ceiling)", milliseconds(e.TCP.RTTMs), milliseconds(e.RTTMs), percent(share)),
				e.TCP.Waiting >= unsentShare && e.TCP.RTTMs >= queueMultiple*e.RTTMs
		}},
	{Server, fmt.Sprintf("on at least %s of the connections TCP had sent all that the server had written, the round trip was below %g times the idle one, and the median duration was at least %g times that of a request on an open connection", percent(idleShare), queueMultiple, openMultiple),
		func(c result.Cell, e result.Evidence) (string, bool) {
			total := c.Duration.P50
			because, idle := waitsForServer(c, e)
			if !idle || total == nil || e.OpenMs <= 0 {
				return "", false
			}
			return fmt.Sprintf("%s; the median request took %s, of which round trip and link explain %s", because, milliseconds(total.Ms), milliseconds(e.OpenMs)),
				e.TCP.RTTMs < queueMultiple*e.RTTMs && total.Ms >= openMultiple*e.OpenMs
		}},
	{Latency, fmt.Sprintf("the median duration is at most %g times the slow-start floor", floorMultiple),
		func(c result.Cell, e result.Evidence) (string, bool) {
			total := c.Duration.P50
			if total == nil || total.Bound || e.FloorMs <= 0 || e.RTTMs < minRTTMs {
				return "", false
			}
			return fmt.Sprintf("the median request took %s; the round trip is %s, the slow-start floor %s", milliseconds(total.Ms), milliseconds(e.RTTMs), milliseconds(e.FloorMs)),
				total.Ms <= floorMultiple*e.FloorMs
		}},
	{Latency, fmt.Sprintf("on at least %s of the connections TCP held back what the server had written: its congestion window was full", percent(unsentShare)),
		func(_ result.Cell, e result.Evidence) (string, bool) {
			if e.TCP == nil {
				return "", false
			}
			return fmt.Sprintf("TCP held back data on %s of the connections, its window full (%s of the bytes sent again)", percent(e.TCP.Waiting), percent(e.TCP.Retransmitted)),
				e.TCP.Waiting >= unsentShare
		}},
	{Server, fmt.Sprintf("on at least %s of the connections TCP had sent all that the server had written", percent(idleShare)),
		func(c result.Cell, e result.Evidence) (string, bool) {
			return waitsForServer(c, e)
		}},
}
