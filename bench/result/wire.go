package result

import "math"

// Wire is what the servers sent through the shaped device. Without a link agent, or
// without a queue on its device (the link none), nobody counts it.
type Wire struct {
	// Bytes left between two readings of the device's queue, Seconds apart: of every
	// packet with its Ethernet, IP and TCP headers, as Packets on the wire.
	Bytes   int64   `json:"bytes"`
	Packets int64   `json:"packets"`
	Seconds float64 `json:"seconds"`
	// LostPackets had left the servers too, and were lost because the link has a loss.
	LostPackets int64 `json:"lost_packets,omitempty"`
	// Segments are those that the servers' TCP sent, Retransmitted among them those
	// that it sent again. They include what it sent around the link.
	Segments      int64 `json:"segments"`
	Retransmitted int64 `json:"retransmitted"`
}

// WireBytes returns the bytes that the servers sent to the link in the window: those of
// the lost packets at the mean size of the others. False where nobody counted them.
func (c Cell) WireBytes() (float64, bool) {
	if c.Evidence == nil || c.Evidence.Wire == nil {
		return 0, false
	}
	w := c.Evidence.Wire
	if w.Bytes <= 0 || w.Packets <= 0 || w.Seconds <= 0 {
		return 0, false
	}
	sent := float64(w.Bytes) * (1 + float64(w.LostPackets)/float64(w.Packets))
	return math.Round(sent * c.WindowS / w.Seconds), true
}

// WireOverhead returns by which share the wire bytes exceed the payload delivered. False
// where either is not known or 0.
func (c Cell) WireOverhead() (float64, bool) {
	bytes, ok := c.WireBytes()
	if payload := c.Delivered(); ok && payload > 0 {
		return bytes/float64(payload) - 1, true
	}
	return 0, false
}
