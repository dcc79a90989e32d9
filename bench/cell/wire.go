package cell

import (
	"context"
	"time"

	"piecebench/bench/result"
	"piecebench/netem/client"
)

// linkReading is the link's counters at a time.
type linkReading struct {
	time time.Time
	client.Stats
}

// readLink reads the counters. Their time is the middle of the call, which takes the
// agent a few milliseconds.
func readLink(ctx context.Context, agent *client.Client) (linkReading, error) {
	before := time.Now()
	state, err := agent.Link(ctx)
	return linkReading{before.Add(time.Since(before) / 2), state.Stats}, err
}

// wire compares two readings that are seconds apart; nil where nothing counts bytes.
func wire(start, end linkReading, seconds float64) *result.Wire {
	w := &result.Wire{
		Bytes: end.SentBytes - start.SentBytes, Packets: end.SentPackets - start.SentPackets, Seconds: seconds,
		LostPackets: end.LossDrops - start.LossDrops,
		Segments:    end.TCPSegments - start.TCPSegments, Retransmitted: end.TCPRetransmitted - start.TCPRetransmitted,
	}
	if w.Bytes <= 0 {
		return nil
	}
	return w
}
