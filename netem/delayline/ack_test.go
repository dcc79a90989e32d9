package delayline

import (
	"encoding/binary"
	"slices"
	"testing"
)

// segment is a TCP packet to make, from a port.
type segment struct {
	port      uint16
	ack       uint32
	flags     byte // besides ACK
	sack      []block
	option    byte // a kind of option, of four bytes
	payload   int
	ipOptions int
	window    uint16
}

const fin, psh, ece, cwr = 1, 8, 64, 128

func (s segment) packet() []byte {
	options := []byte{optionNone, optionNone, optionTimestamps, 10, 0, 0, 0, 1, 0, 0, 0, 2}
	if len(s.sack) > 0 {
		options = append(options, optionNone, optionNone, optionSACK, byte(2+8*len(s.sack)))
		for _, b := range s.sack {
			options = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(options, b.start), b.end)
		}
	}
	if s.option != 0 {
		options = append(options, s.option, 4, 0, 0)
	}
	ip := 20 + s.ipOptions
	p := slices.Concat(make([]byte, ip+20), options, make([]byte, s.payload))
	p[0], p[9] = 4<<4|byte(ip/4), protocolTCP
	binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
	binary.BigEndian.PutUint16(p[ip:], s.port)
	binary.BigEndian.PutUint32(p[ip+8:], s.ack)
	p[ip+12], p[ip+13] = byte((20+len(options))/4)<<4, flagACK|s.flags
	binary.BigEndian.PutUint16(p[ip+14:], s.window)
	return p
}

func TestPureACK(t *testing.T) {
	change := func(s segment, at int, value byte) []byte {
		p := s.packet()
		p[at] = value
		return p
	}
	for _, test := range []struct {
		what   string
		packet []byte
		want   bool
	}{
		{"acknowledgement", segment{}.packet(), true},
		{"acknowledgement with SACK", segment{sack: []block{{1, 2}, {5, 6}}}.packet(), true},
		{"acknowledgement with IP options", segment{ipOptions: 40}.packet(), true},
		{"request", segment{flags: psh, payload: 100}.packet(), false},
		{"middle of a request", segment{payload: 100}.packet(), false},
		{"SYN", change(segment{}, 33, flagSYN), false},
		{"SYN and ACK", segment{flags: flagSYN}.packet(), false},
		{"FIN", segment{flags: fin}.packet(), false},
		{"RST", segment{flags: flagRST}.packet(), false},
		{"congestion echo", segment{flags: ece}.packet(), false},
		{"congestion window reduced", segment{flags: cwr}.packet(), false},
		{"accurate congestion echo", change(segment{}, 32, 8<<4|1), false},
		{"acknowledgement of MPTCP", segment{option: 30}.packet(), false},
		{"option that is cut short", change(segment{}, 43, 20), false},
		{"option without a length", change(segment{}, 43, 0), false},
		{"fragment", change(segment{}, 7, 1), false},
		{"first fragment", change(segment{}, 6, 0x20), false},
		{"UDP", change(segment{}, 9, 17), false},
		{"IPv6", change(segment{}, 0, 0x65), false},
		{"nothing", nil, false},
		{"cut short", segment{ipOptions: 40}.packet()[:70], false},
	} {
		if got := pureACK(test.packet); got != test.want {
			t.Errorf("%s: %v, want %v", test.what, got, test.want)
		}
	}
}

func TestWhatALaterPacketRepeats(t *testing.T) {
	sack := func(ack uint32, blocks ...block) segment { return segment{ack: ack, sack: blocks} }
	for _, test := range []struct {
		what           string
		earlier, later segment
		want           bool
	}{
		{"more is acknowledged", segment{ack: 10}, segment{ack: 20}, true},
		{"more, past the wrap", segment{ack: 1<<32 - 10}, segment{ack: 20}, true},
		{"more, by a request", segment{ack: 10}, segment{ack: 20, flags: psh, payload: 100}, true},
		{"more, by a FIN", segment{ack: 10}, segment{ack: 20, flags: fin}, true},
		{"more, with a congestion echo", segment{ack: 10}, segment{ack: 20, flags: ece}, true},
		{"less: they came in another order", segment{ack: 20}, segment{ack: 10}, false},
		{"a reset acknowledges nothing", segment{ack: 10}, segment{ack: 20, flags: flagRST}, false},
		{"nor does a new connection", segment{ack: 10}, segment{ack: 20, flags: flagSYN}, false},
		{"a duplicate, of which three make a sender without SACK repeat", segment{ack: 10}, segment{ack: 10}, false},
		{"a new window", segment{ack: 10, window: 1}, segment{ack: 10, window: 2}, false},
		{"the same block, longer", sack(10, block{20, 30}), sack(10, block{20, 40}), true},
		{"one more block", sack(10, block{20, 30}), sack(10, block{50, 60}, block{20, 30}), true},
		{"a block that the later one has no room for", sack(10, block{80, 90}, block{60, 70}, block{20, 30}), sack(10, block{100, 110}, block{80, 90}, block{60, 70}), false},
		{"a block that all is acknowledged of", sack(10, block{20, 30}), segment{ack: 30}, true},
		{"a block that is acknowledged in part", sack(10, block{20, 30}), segment{ack: 25}, false},
		{"a block that is shorter", sack(10, block{20, 30}), sack(10, block{21, 30}), false},
		{"more is acknowledged, and a block is gone", sack(10, block{20, 30}, block{50, 60}), sack(30, block{40, 45}), false},
		{"bytes that arrived twice", sack(10, block{5, 8}), segment{ack: 20}, false},
		{"blocks past the wrap", sack(1<<32-20, block{1<<32 - 10, 5}), sack(1<<32-20, block{1<<32 - 10, 15}), true},
	} {
		if got := repeats(test.later.packet(), test.earlier.packet()); got != test.want {
			t.Errorf("%s: %v, want %v", test.what, got, test.want)
		}
	}
	other := segment{ack: 20}.packet()
	other[9] = 17
	if repeats(other, segment{ack: 10}.packet()) || repeats(nil, segment{ack: 10}.packet()) {
		t.Error("what is no TCP repeats an acknowledgement")
	}
}
