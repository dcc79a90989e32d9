// Package bottleneck says what limited a cell: the first rule of a table that
// holds for what was seen of it. docs/METHODOLOGY.md has the same table.
package bottleneck

import (
	"fmt"
	"strings"

	"piecebench/bench/readable"
	"piecebench/bench/result"
	"piecebench/netem/client"
	"piecebench/netem/link"
)

// Verdicts.
const (
	Link      = "link"       // it was full
	ServerCPU = "server-cpu" // the server had no CPU left
	Generator = "generator"  // k6, or the window that it gave TCP
	Host      = "host"       // servers, link and clients together took all CPUs
	Emulator  = "emulator"   // the link was not what it was set to
	Server    = "server"     // it let its clients wait with CPU to spare
	Latency   = "latency"    // round trips: more clients would get more
)

// Bounds of the rules.
const (
	linkFull      = 0.95 // of the link's ceiling; also of the generator's
	cpuFull       = 0.90 // of the CPUs that somebody may use, or of one by a single thread
	quotaUsedUp   = 0.50 // of a quota's periods
	mostOf        = 0.65 // of all CPUs of a full machine: then it is one process that fills it
	droppedShare  = 0.05 // of packets, on a link that is not full and was not asked to lose any
	windowShare   = 0.50 // of the time with something to send
	waitShare     = 0.50 // of a request's duration, before its first byte
	queueMultiple = 1.5  // of the idle round trip
	openMultiple  = 2.0  // of the time of a request that TCP does not hold back
	floorMultiple = 2.0  // of the least time of a request
	unsentShare   = 0.50 // of connections with something to send: TCP holds it back
	idleShare     = 0.80 // of connections with nothing to send: their server holds it back
)

// LateShare is the share of a delay line's packets from which on, late by more
// than 1 ms, the round trip is beyond a link's tolerance.
const LateShare = 0.50

// Rule is one row of the table.
type Rule struct {
	By   string // the verdict
	When string // as docs/METHODOLOGY.md has it
	// holds returns the figures that decided, in words.
	holds func(result.Cell, result.Evidence) (because string, ok bool)
}

// Rules in their order: the first that holds is the verdict. What the evidence
// lacks, a rule cannot hold for.
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
			// Of a duration that is only known to be longer, the share is not known,
			// unless there was no first byte until then.
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
			because, idle := waitsForServer(e)
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
		func(_ result.Cell, e result.Evidence) (string, bool) {
			return waitsForServer(e)
		}},
}

// minRTTMs is the least round trip with which the rules on waiting hold: below
// it, as on a loopback, the time of a request is that which programs compute.
const minRTTMs = 1.0

var heldAfter = milliseconds(float64(client.HeldAfter.Milliseconds()))

// Of returns the verdict on a cell: the first rule that holds, or none.
func Of(c result.Cell) result.Verdict {
	var seen result.Evidence
	if c.Evidence != nil {
		seen = *c.Evidence
	}
	for _, rule := range Rules {
		if because, ok := rule.holds(c, seen); ok {
			return result.Verdict{By: rule.By, Because: because}
		}
	}
	return result.Verdict{}
}

// usedUp holds when a program used what it may use of the CPUs.
func usedUp(name string, use *result.CPUUse) (string, bool) {
	switch {
	case use == nil || use.Allowed <= 0:
		return "", false
	case use.CPUs >= cpuFull*use.Allowed:
		return fmt.Sprintf("%s used %.2f of the %.4g CPUs that it may use", name, use.CPUs, use.Allowed), true
	// A quota is dealt out to each CPU in slices, of which some lapse: who waits
	// for it need not have used all of it.
	case use.Throttled >= quotaUsedUp:
		return fmt.Sprintf("%s was stopped in %s of the periods of its quota, %.4g CPUs, of which it used %.2f", name, percent(use.Throttled), use.Allowed, use.CPUs), true
	}
	return fmt.Sprintf("one thread of %s was busy %s of the time", name, percent(use.BusiestThread)), use.BusiestThread >= cpuFull
}

// waitsForServer holds when TCP had sent whatever the server had written, on most
// connections.
func waitsForServer(e result.Evidence) (string, bool) {
	if e.TCP == nil || e.TCP.Connections == 0 || e.RTTMs < minRTTMs {
		return "", false
	}
	idle := 1 - e.TCP.Waiting
	return fmt.Sprintf("on %s of the connections TCP waited for the server to write", percent(idle)) + cpus(e), idle >= idleShare
}

// tookMost holds when all CPUs were busy and one program took most of them.
func tookMost(name string, use *result.CPUUse, c result.Cell, e result.Evidence) (string, bool) {
	if use == nil || e.HostCPUs == 0 {
		return "", false
	}
	return fmt.Sprintf("%s used %.2f of %d CPUs, which were %s busy", name, use.CPUs, e.HostCPUs, percent(c.HostCPU)),
		c.HostCPU >= cpuFull && use.CPUs >= mostOf*float64(e.HostCPUs)
}

// busy tells who took the CPUs.
func busy(c result.Cell, e result.Evidence) string {
	text := fmt.Sprintf("all CPUs %s busy", percent(c.HostCPU))
	if e.HostCPUs == 0 {
		return text
	}
	rest := c.HostCPU * float64(e.HostCPUs)
	var parts []string
	for _, part := range []struct {
		name string
		cpus *float64
	}{{"server", used(e.Server)}, {"k6", used(e.Generator)}, {"link agent", e.Agent}} {
		if part.cpus != nil {
			parts = append(parts, fmt.Sprintf("%s %.2f", part.name, *part.cpus))
			rest -= *part.cpus
		}
	}
	return fmt.Sprintf("%s (of %d: %s, kernel and others %.2f)", text, e.HostCPUs, strings.Join(parts, ", "), max(0, rest))
}

func used(use *result.CPUUse) *float64 {
	if use == nil {
		return nil
	}
	return &use.CPUs
}

// cpus tells how idle a server was that let others wait.
func cpus(e result.Evidence) string {
	if e.Server == nil {
		return ""
	}
	return fmt.Sprintf("; it used %.2f of %.4g CPUs", e.Server.CPUs, e.Server.Allowed)
}

var (
	percent      = readable.WholePercent
	milliseconds = readable.Duration
)
