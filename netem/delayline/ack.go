package delayline

import "encoding/binary"

// TCP's flags and options, as far as they matter here.
const (
	protocolTCP = 6

	flagSYN = 0x02
	flagRST = 0x04
	flagACK = 0x10

	optionEnd        = 0
	optionNone       = 1
	optionSACK       = 5
	optionTimestamps = 8
)

// tcpOf returns the IP header's length of an IPv4 packet that carries TCP, and
// false for any other one.
func tcpOf(packet []byte) (ip int, ok bool) {
	if len(packet) < 40 || packet[0]>>4 != 4 || packet[9] != protocolTCP {
		return 0, false
	}
	if packet[6]&0x3f|packet[7] != 0 { // a fragment: another one has the header
		return 0, false
	}
	ip = int(packet[0]&15) * 4
	return ip, len(packet) >= ip+20
}

// connection is the source and destination address and port of an IPv4 TCP packet.
type connection [12]byte

// connectionOf returns the connection of a packet, and false for one that is
// no TCP.
func connectionOf(packet []byte) (key connection, ok bool) {
	ip, ok := tcpOf(packet)
	if ok {
		copy(key[:8], packet[12:20])
		copy(key[8:], packet[ip:ip+4])
	}
	return key, ok
}

// pureACK reports whether an IPv4 packet is a TCP acknowledgement and nothing
// else: no data, no other flag (ECE and CWR report congestion, once), and no
// option but timestamps and SACK.
func pureACK(packet []byte) bool {
	ip, ok := tcpOf(packet)
	if !ok {
		return false
	}
	header := int(packet[ip+12]>>4) * 4
	if packet[ip+13] != flagACK || packet[ip+12]&15 != 0 || int(binary.BigEndian.Uint16(packet[2:])) != ip+header || len(packet) != ip+header {
		return false
	}
	for kind := range options(packet[ip+20:]) {
		if kind != optionSACK && kind != optionTimestamps {
			return false
		}
	}
	return true
}

// options goes through TCP options: their kinds, and what follows the length.
func options(text []byte) func(yield func(kind byte, value []byte) bool) {
	return func(yield func(byte, []byte) bool) {
		for len(text) > 0 && text[0] != optionEnd {
			if text[0] == optionNone {
				text = text[1:]
				continue
			}
			size := 0 // of one that is cut short
			if len(text) > 1 {
				size = int(text[1])
			}
			if size < 2 || size > len(text) {
				yield(optionEnd, nil)
				return
			}
			if !yield(text[0], text[2:size]) {
				return
			}
			text = text[size:]
		}
	}
}

// block is the first sequence number of a range, and the one after it.
type block struct{ start, end uint32 }

// blocksOf returns what a packet acknowledges selectively: at most four blocks,
// as many as a header has room for.
func blocksOf(packet []byte, ip int) (blocks [4]block, n int) {
	for kind, value := range options(packet[ip+20 : ip+int(packet[ip+12]>>4)*4]) {
		for ; kind == optionSACK && len(value) >= 8 && n < len(blocks); value = value[8:] {
			blocks[n] = block{binary.BigEndian.Uint32(value), binary.BigEndian.Uint32(value[4:])}
			n++
		}
	}
	return blocks, n
}

// repeats reports whether a packet says all that an earlier pure
// acknowledgement of its connection does, so that the other end misses nothing
// but the earlier one's time.
//
// Acknowledgements are cumulative, selective ones are not: each block of the
// earlier one has to be acknowledged by the later, in either way. Otherwise TCP
// would send again what has arrived. One that acknowledges no more than the one
// before it is a duplicate, of which three make a sender without SACK repeat
// what was lost (RFC 5681), or a new window. Both are few, and none is left out.
func repeats(later, earlier []byte) bool {
	ip, ok := tcpOf(later)
	if !ok || later[ip+13]&(flagACK|flagRST|flagSYN) != flagACK || len(later) < ip+int(later[ip+12]>>4)*4 {
		return false
	}
	before := int(earlier[0]&15) * 4
	ack, had := binary.BigEndian.Uint32(later[ip+8:]), binary.BigEndian.Uint32(earlier[before+8:])
	blocks, n := blocksOf(earlier, before)
	if isAfter(had, ack) || had == ack && n == 0 {
		return false
	}
	now, m := blocksOf(later, ip)
	for _, b := range blocks[:n] {
		// Bytes that had arrived twice (RFC 2883), which is said only once.
		duplicate := !isAfter(b.end, had)
		if duplicate || isAfter(b.end, ack) && !covered(b, now[:m]) {
			return false
		}
	}
	return true
}

func covered(b block, by []block) bool {
	for _, c := range by {
		if !isAfter(c.start, b.start) && !isAfter(b.end, c.end) {
			return true
		}
	}
	return false
}

// isAfter compares sequence numbers, which wrap.
func isAfter(a, b uint32) bool { return int32(a-b) > 0 }
