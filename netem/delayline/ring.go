package delayline

import (
	"encoding/binary"
	"time"
)

// ring is a FIFO of packets in one preallocated buffer. A packet lies in one
// piece behind its header, so that it is read from and written to the device
// in place; the tail of the buffer that is too short for one more is skipped.
//
// A packet takes its own length and headerSize, so an acknowledgement of 52
// bytes takes 68 and not a whole MTU.
type ring struct {
	buf        []byte
	head, tail int // next to leave, next to fill
	wrap       int // where head continues at 0; meaningful while tail < head
	count      int
}

// Header: arrival (8 bytes), unread (4), length (4).
const headerSize = 16

func newRing(size int) *ring { return &ring{buf: make([]byte, size)} }

// reserve returns room for a packet of up to n bytes, or nil when the ring is full.
func (r *ring) reserve(n int) []byte {
	need := headerSize + n
	if r.count == 0 {
		r.head, r.tail = 0, 0
	}
	if r.tail < r.head || r.count > 0 && r.tail == r.head {
		if r.tail+need > r.head {
			return nil
		}
	} else if r.tail+need > len(r.buf) {
		if need > r.head {
			return nil
		}
		r.wrap, r.tail = r.tail, 0
	}
	return r.buf[r.tail+headerSize : r.tail+need]
}

// commit keeps the first n bytes of what reserve returned. The clock of the
// packet starts at arrival; it may have waited unread before.
func (r *ring) commit(n int, arrival, unread time.Duration) {
	header := r.buf[r.tail:]
	binary.NativeEndian.PutUint64(header, uint64(arrival))
	binary.NativeEndian.PutUint32(header[8:], uint32(min(unread, 1<<32-1)))
	binary.NativeEndian.PutUint32(header[12:], uint32(n))
	r.tail += align(headerSize + n)
	r.count++
}

// front returns the oldest packet. It must not be called on an empty ring.
func (r *ring) front() (packet []byte, arrival, unread time.Duration) {
	if r.head > r.tail && r.head == r.wrap {
		r.head = 0
	}
	header := r.buf[r.head:]
	n := int(binary.NativeEndian.Uint32(header[12:]))
	return header[headerSize : headerSize+n],
		time.Duration(binary.NativeEndian.Uint64(header)),
		time.Duration(binary.NativeEndian.Uint32(header[8:]))
}

// pop removes what front returned.
func (r *ring) pop() {
	packet, _, _ := r.front()
	r.head += align(headerSize + len(packet))
	r.count--
}

// resized moves the packets into a ring of another size, as many of the oldest
// as that has room for. What it has no room for stays in r.
func (r *ring) resized(size int) *ring {
	other := newRing(size)
	for ; r.count > 0; r.pop() {
		packet, arrival, unread := r.front()
		room := other.reserve(len(packet))
		if room == nil {
			break
		}
		copy(room, packet)
		other.commit(len(packet), arrival, unread)
	}
	return other
}

func align(n int) int { return (n + 7) &^ 7 }
