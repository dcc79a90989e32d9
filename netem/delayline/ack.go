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

// connections counts the packets of each connection that a line holds.
type connections map[connection]int32

// hold counts a packet that has come, and release one that leaves.
func (c connections) hold(packet []byte) {
	if key, ok := connectionOf(packet); ok {
		c[key]++
	}
}

func (c connections) release(packet []byte) {
	key, ok := connectionOf(packet)
	switch {
	case !ok:
	case c[key] > 1:
		c[key]--
	default:
		delete(c, key)
	}
}

// others reports whether the line holds more packets of a packet's connection.
func (c connections) others(packet []byte) bool {
	key, ok := connectionOf(packet)
	return ok && c[key] > 1
}

func connectionOf(packet []byte) (key connection, ok bool) {
	ip, ok := tcpOf(packet)
	if ok {
		copy(key[:8], packet[12:20])
		copy(key[8:], packet[ip:ip+4])
	}
	return key, ok
}
