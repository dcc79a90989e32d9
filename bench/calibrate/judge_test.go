package calibrate

import (
	"errors"
	"strings"
	"testing"

	"piecebench/bench/result"
	"piecebench/netem/client"
	"piecebench/netem/link"
)

// measured returns the calibration of a link of 1 Gbit/s and 40 ms. The capacities through
// the link and unshaped are given as multiples of what the link allows.
func measured(through, unshaped float64, hostCPU float64) (*result.Calibration, link.Spec) {
	spec, err := link.Parse("1gbit/40ms")
	if err != nil {
		panic(err)
	}
	expected := float64(spec.RateBits) * link.FullSizedShare
	c := &result.Calibration{Link: spec.String(), AskedRateBits: spec.RateBits, AskedDelayMs: 40, IdleRTTMs: 40.2, ExpectedBits: int64(expected)}
	for _, n := range streamCounts {
		c.Through = append(c.Through, result.StreamsCapacity{Streams: n, GoodputBits: int64(through * expected), HostCPU: hostCPU})
		c.Unshaped = append(c.Unshaped, result.StreamsCapacity{Streams: n, GoodputBits: int64(unshaped * expected)})
	}
	return c, spec
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name                       string
		through, unshaped, hostCPU float64
		change                     func(*result.Calibration, *client.Stats)
		refused                    string // part of the reason; empty: not refused
		hostLimited                bool
	}{
		{name: "as asked", through: 0.995, unshaped: 20},
		{name: "just within the tolerance", through: 0.981, unshaped: 20},
		{name: "faster than asked", through: 1.05, unshaped: 20, refused: "not in force"},
		{name: "slow for no visible reason", through: 0.90, unshaped: 20, refused: "tcp_rmem"},
		{name: "slow with drops", through: 0.45, unshaped: 20, refused: "dropped 11642",
			change: func(_ *result.Calibration, s *client.Stats) { s.Drops = 11642 }},
		{name: "slow with a late delay line", through: 0.45, unshaped: 20, refused: "p99 5000 us",
			change: func(_ *result.Calibration, s *client.Stats) { s.DelayLine = &client.DelayLine{LatenessP99Us: 5000} }},
		{name: "the machine cannot move one and a half times the rate", through: 0.90, unshaped: 1.4, hostLimited: true},
		{name: "no CPU left", through: 0.75, unshaped: 3, hostCPU: 0.99, hostLimited: true},
		{name: "slow at 128 streams only", through: 1, unshaped: 20, refused: "128 streams",
			change: func(c *result.Calibration, _ *client.Stats) { c.Through[2].GoodputBits /= 2 }},
		{name: "RTT too long", through: 1, unshaped: 20, refused: "41.50 ms instead of 40 ms",
			change: func(c *result.Calibration, _ *client.Stats) { c.IdleRTTMs = 41.5 }},
		{name: "RTT too short", through: 1, unshaped: 20, refused: "0.10 ms instead of 40 ms",
			change: func(c *result.Calibration, _ *client.Stats) { c.IdleRTTMs = 0.1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			calibration, spec := measured(c.through, c.unshaped, c.hostCPU)
			var stats client.Stats
			if c.change != nil {
				c.change(calibration, &stats)
			}
			err := judge(calibration, spec, stats)
			if c.refused == "" && err != nil {
				t.Fatal("refused:", err)
			}
			if refusal := (*Refusal)(nil); c.refused != "" && (!errors.As(err, &refusal) || !strings.Contains(refusal.Reason, c.refused)) {
				t.Fatalf("got %v; want a refusal that says %q", err, c.refused)
			}
			if calibration.HostLimited != c.hostLimited {
				t.Errorf("host-limited %v, want %v (%v)", calibration.HostLimited, c.hostLimited, calibration.Notes)
			}
			if c.hostLimited && len(calibration.Notes) == 0 {
				t.Error("host-limited without a note")
			}
		})
	}
}
