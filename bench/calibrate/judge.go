package calibrate

import (
	"fmt"
	"strings"

	"piecebench/bench/result"
	"piecebench/netem/client"
	"piecebench/netem/link"
)

// Tolerances of a link.
const (
	rateTolerance  = 0.02 // of the goodput that the asked rate allows
	rttToleranceMs = 1.0
	// A machine that transfers less than this multiple of the requested rate without a
	// link is too slow for the link: a cell would measure the machine.
	unshapedMargin = 1.5
	// With this share of the CPUs busy, the machine could not do more.
	cpuFull = 0.9
)

// Refusal is the error for a link that works but is not as requested.
type Refusal struct {
	Link   string
	Reason string
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("link %s refused: %s", r.Link, r.Reason)
}

// judge flags a link that is slow because of the machine. It refuses a link that is off for
// another reason, and names the visible cause.
func judge(c *result.Calibration, spec link.Spec, stats client.Stats) error {
	if off := c.IdleRTTMs - c.AskedDelayMs; off > rttToleranceMs || off < -rttToleranceMs {
		return &Refusal{c.Link, fmt.Sprintf("idle RTT is %.2f ms instead of %g ms%s", c.IdleRTTMs, c.AskedDelayMs, lateness(stats))}
	}
	for i, m := range c.Through {
		limited, refused := judgeCapacity(m, c.Unshaped[i], c, spec)
		switch {
		case refused != "" && m.GoodputBits < c.ExpectedBits:
			return &Refusal{c.Link, refused + ": " + cause(stats)}
		case refused != "":
			return &Refusal{c.Link, refused}
		case limited != "":
			c.HostLimited = true
			c.Notes = append(c.Notes, "host-limited: "+limited)
		}
	}
	return nil
}

// asAsked reports whether a capacity is that of the link, or all that the CPUs could do.
func asAsked(m, unshaped result.StreamsCapacity, c *result.Calibration, spec link.Spec) bool {
	limited, refused := judgeCapacity(m, unshaped, c, spec)
	return refused == "" && (limited == "" || m.HostCPU >= cpuFull)
}

// judgeCapacity compares a capacity with what the link allows. It returns how the machine
// limits the capacity, or why the link is refused, or nothing.
func judgeCapacity(m, unshaped result.StreamsCapacity, c *result.Calibration, spec link.Spec) (limited, refused string) {
	if spec.RateBits == 0 {
		return "", ""
	}
	share := float64(m.GoodputBits) / float64(c.ExpectedBits)
	if share > 1+rateTolerance {
		return "", fmt.Sprintf("with %d streams it carries %.1f Mbit/s, %.1f %% of what %s allows: the rate limit is not in force (another qdisc, or a way around it?)",
			m.Streams, megabits(m.GoodputBits), 100*share, c.Link)
	}
	// The goodput over a lossy link is a property of TCP, not a fault of the link.
	if share >= 1-rateTolerance || spec.Loss > 0 {
		return "", ""
	}
	missed := fmt.Sprintf("with %d streams it carries %.1f of %.1f Mbit/s", m.Streams, megabits(m.GoodputBits), megabits(c.ExpectedBits))
	switch {
	case float64(unshaped.GoodputBits) < unshapedMargin*float64(c.ExpectedBits):
		return fmt.Sprintf("%s; unshaped this machine does %.1f", missed, megabits(unshaped.GoodputBits)), ""
	case m.HostCPU >= cpuFull:
		return fmt.Sprintf("%s with the CPUs %.0f %% busy", missed, 100*m.HostCPU), ""
	}
	return "", fmt.Sprintf("%s, and unshaped this machine does %.1f with CPU to spare (%.0f %% busy)",
		missed, megabits(unshaped.GoodputBits), 100*m.HostCPU)
}

// cause returns the reasons that the counters of the agent show.
func cause(stats client.Stats) string {
	var seen []string
	if stats.Drops > 0 {
		seen = append(seen, fmt.Sprintf("the link's queue dropped %d of %d packets", stats.Drops, stats.Drops+stats.SentPackets))
	}
	if line := stats.DelayLine; line != nil && line.Dropped > 0 {
		seen = append(seen, fmt.Sprintf("the delay line dropped %d packets", line.Dropped))
	}
	if late := lateness(stats); late != "" {
		seen = append(seen, strings.TrimPrefix(late, "; "))
	}
	if len(seen) == 0 {
		return "no packet was dropped or late; check TCP's buffers (tcp_rmem, tcp_wmem) and congestion control"
	}
	return strings.Join(seen, ", ")
}

// lateness describes how late the user-space delay line was. It is empty if it was in time.
func lateness(stats client.Stats) string {
	if line := stats.DelayLine; line != nil && line.LatenessP99Us > 1000 {
		return fmt.Sprintf("; the delay line is late (p50 %d us, p99 %d us)", line.LatenessP50Us, line.LatenessP99Us)
	}
	return ""
}

func megabits(bits int64) float64 { return float64(bits) / 1e6 }
