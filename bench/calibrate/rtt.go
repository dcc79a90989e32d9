package calibrate

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"
)

// The idle RTT is the median of this number of TCP handshakes. If it is off, it is measured
// again, because other work on the machine only adds to it.
const (
	connects    = 15
	rttAttempts = 10
)

// idleRTT returns the smallest of up to rttAttempts medians of the round trip of a TCP
// handshake with address. It stops at the first median that is within the tolerance.
func idleRTT(ctx context.Context, address string, asked time.Duration) (time.Duration, error) {
	var least time.Duration
	for attempt := range rttAttempts {
		median, err := medianHandshake(ctx, address)
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

// medianHandshake leaves out the first handshake, which also waits for ARP.
func medianHandshake(ctx context.Context, address string) (time.Duration, error) {
	var times []time.Duration
	for range connects + 1 {
		rtt, err := handshake(ctx, address)
		if err != nil {
			return 0, fmt.Errorf("measuring the RTT to %s: %w", address, err)
		}
		times = append(times, rtt)
	}
	times = times[1:]
	slices.Sort(times)
	return times[len(times)/2], nil
}

// handshake returns the round trip of a TCP handshake, as timed by the kernel. It does not
// include the time that this process then waits for a CPU.
func handshake(ctx context.Context, address string) (time.Duration, error) {
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	info, err := tcpInfo(raw)
	if err != nil {
		return 0, fmt.Errorf("TCP_INFO: %w", err)
	}
	return time.Duration(info.Rtt) * time.Microsecond, nil
}
