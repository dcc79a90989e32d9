package delayline

// pureACK reports whether an IPv4 packet is a TCP acknowledgement and nothing
// else. Any later one of the same connection says all that it says.
func pureACK(packet []byte) bool {
	const tcp, ack = 6, 0x10
	if len(packet) < 40 || packet[0]>>4 != 4 || packet[9] != tcp {
		return false
	}
	ip := int(packet[0]&15) * 4
	if len(packet) < ip+20 {
		return false
	}
	header := int(packet[ip+12]>>4) * 4
	return packet[ip+13] == ack && int(packet[2])<<8|int(packet[3]) == ip+header
}
