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
