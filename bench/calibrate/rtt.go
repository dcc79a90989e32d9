package calibrate

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"
)

// The idle RTT is the median of so many connection set-ups, measured again
// while it is off, because whatever else the machine does only adds to it.
const (
	connects    = 15
	rttAttempts = 3
)

// idleRTT returns the least of up to rttAttempts medians of the time of a TCP
// connect to address, which is one round trip. It stops at the first that is as
// asked, to within the tolerance.
func idleRTT(ctx context.Context, address string, asked time.Duration) (time.Duration, error) {
	var least time.Duration
	for attempt := range rttAttempts {
		median, err := medianConnect(ctx, address)
		if err != nil {
			return 0, err
		}
		if attempt == 0 || median < least {
			least = median
		}
		if milliseconds((least - asked).Abs()) <= rttToleranceMs {
			break
		}
	}
	return least, nil
}

// medianConnect leaves the first connect out: it waits for ARP as well.
func medianConnect(ctx context.Context, address string) (time.Duration, error) {
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
