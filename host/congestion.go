package host

import (
	"net"

	"golang.org/x/sys/unix"
)

// CongestionControl returns the name of the congestion control that this end of a
// TCP connection runs, empty where that is not known.
func CongestionControl(conn net.Conn) (name string) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return ""
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return ""
	}
	_ = raw.Control(func(fd uintptr) { // an error leaves the name empty
		name, _ = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	})
	return name
}
