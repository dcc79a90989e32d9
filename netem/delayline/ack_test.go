package delayline

import (
	"encoding/binary"
	"testing"
)

func TestPureACK(t *testing.T) {
	// tcp makes a packet of IPv4 and TCP headers with options, and a payload.
	tcp := func(ipHeader, tcpHeader, payload int, flags byte) []byte {
		p := make([]byte, ipHeader+tcpHeader+payload)
		p[0] = 4<<4 | byte(ipHeader/4)
		binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
		p[9] = 6
		p[ipHeader+12] = byte(tcpHeader/4) << 4
		p[ipHeader+13] = flags
		return p
	}
	const fin, syn, rst, psh, ack, ece = 1, 2, 4, 8, 16, 64
	udp := tcp(20, 20, 0, ack)
	udp[9] = 17
	ipv6 := tcp(20, 20, 0, ack)
	ipv6[0] = 0x60
	for _, test := range []struct {
		what   string
		packet []byte
		want   bool
	}{
		{"acknowledgement", tcp(20, 20, 0, ack), true},
		{"acknowledgement with timestamps and SACK", tcp(20, 60, 0, ack), true},
		{"acknowledgement with IP options", tcp(60, 32, 0, ack), true},
		{"request", tcp(20, 32, 100, ack|psh), false},
		{"middle of a request", tcp(20, 32, 100, ack), false},
		{"SYN", tcp(20, 40, 0, syn), false},
		{"SYN and ACK", tcp(20, 40, 0, syn|ack), false},
		{"FIN", tcp(20, 32, 0, fin|ack), false},
		{"RST", tcp(20, 20, 0, rst|ack), false},
		{"congestion echo", tcp(20, 32, 0, ack|ece), false},
		{"UDP", udp, false},
		{"IPv6", ipv6, false},
		{"nothing", nil, false},
		{"cut short", tcp(60, 20, 0, ack)[:50], false},
	} {
		if got := pureACK(test.packet); got != test.want {
			t.Errorf("%s: %v, want %v", test.what, got, test.want)
		}
	}
}

func TestConnectionsCountWhatIsHeld(t *testing.T) {
	packet := func(port byte) []byte {
		p := make([]byte, 40)
		p[0], p[9], p[23] = 4<<4|5, protocolTCP, port
		return p
	}
	held := make(connections)
	held.hold(packet(1))
	if held.others(packet(1)) {
		t.Error("the only packet of a connection is said to have others")
	}
	held.hold(packet(2))
	if held.others(packet(1)) {
		t.Error("another connection's packet counts")
	}
	held.hold(packet(1))
	if !held.others(packet(1)) {
		t.Error("two packets of a connection are held, and neither is said to have others")
	}
	held.release(packet(1))
	if held.others(packet(1)) {
		t.Error("a packet that left still counts")
	}
	held.release(packet(1))
	held.release(packet(2))
	if len(held) != 0 {
		t.Errorf("%d connections are kept of which nothing is held", len(held))
	}
	if held.hold(nil); len(held) != 0 {
		t.Error("what is not TCP counts")
	}
}
