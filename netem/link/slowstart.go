package link

import "time"

// TCP's first window on a new connection, and its segments (RFC 6928, MTU 1500).
const (
	initialWindow = 10
	segmentBytes  = 1448
)

// SlowStart returns the least time in which one request for so many bytes, alone
// on the link and on a new connection, is answered in full: connecting takes a
// round trip, and then each round trip brings twice as much as the one before,
// until a window holds the rest or fills the link.
// Requests that were measured took up to 3 % longer.
func (s Spec) SlowStart(bytes int64, rtt time.Duration) time.Duration {
	const first = initialWindow * segmentBytes
	inFlight := float64(s.RateBits) * FullSizedShare / 8 * rtt.Seconds()
	left, took := float64(bytes), 2*rtt // to connect, and until the first window arrives
	for window := float64(first); left > window && (s.RateBits == 0 || window < inFlight); window *= 2 {
		left -= window
		took += rtt
	}
	return took + s.Transmit(left)
}

// Transmit returns how long so many bytes of payload take at the link's rate, in
// full-sized packets. It is 0 without a rate.
func (s Spec) Transmit(bytes float64) time.Duration {
	if s.RateBits == 0 {
		return 0
	}
	return time.Duration(bytes * 8 / (float64(s.RateBits) * FullSizedShare) * float64(time.Second))
}
