package calibrate

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"
)

// connects is how many connection set-ups the idle RTT is the median of.
const connects = 15

// idleRTT returns the median time of a TCP connect to address: one round trip.
// The first is left out: it waits for ARP as well.
func idleRTT(ctx context.Context, address string) (time.Duration, error) {
	var times []time.Duration
	for range connects + 1 {
		start := time.Now()
		conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp", address)
		if err != nil {
			return 0, fmt.Errorf("measuring the RTT to %s: %w", address, err)
		}
		times = append(times, time.Since(start))
		conn.Close()
	}
	times = times[1:]
	slices.Sort(times)
	return times[len(times)/2], nil
}
