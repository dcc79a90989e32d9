package delayline

const (
	protocolTCP = 6
	flagACK     = 0x10
)

// tcpOf returns the IP header's length of an IPv4 packet that carries TCP, and
// false for any other one.
func tcpOf(packet []byte) (ip int, ok bool) {
	if len(packet) < 40 || packet[0]>>4 != 4 || packet[9] != protocolTCP {
		return 0, false
	}
	ip = int(packet[0]&15) * 4
	return ip, len(packet) >= ip+20
}

// pureACK reports whether an IPv4 packet is a TCP acknowledgement and nothing
// else. Any later packet of the same connection says all that it says.
func pureACK(packet []byte) bool {
	ip, ok := tcpOf(packet)
	if !ok {
		return false
	}
	header := int(packet[ip+12]>>4) * 4
	return packet[ip+13] == flagACK && int(packet[2])<<8|int(packet[3]) == ip+header
}

// connection is the source and destination address and port of an IPv4 TCP packet.
type connection [12]byte

// connectionOf returns the connection of a packet that tcpOf says is one's.
func connectionOf(packet []byte) (key connection) {
	ip := int(packet[0]&15) * 4
	copy(key[:8], packet[12:20])
	copy(key[8:], packet[ip:ip+4])
	return key
}
