package calibrate

import (
	"net"
	"unsafe"

	"golang.org/x/sys/unix"
)

// discardLength is how many bytes one call may drop.
const discardLength = 4 << 20

// scratch only gives recv an address: with MSG_TRUNC, TCP drops the bytes in
// the kernel (tcp(7)) and writes nothing there, so it never becomes resident.
var scratch [discardLength]byte

// discard waits for received bytes and drops them in the kernel. It returns 0
// at the end of the stream.
func discard(conn *net.TCPConn) (n int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var errno unix.Errno
	err = raw.Read(func(fd uintptr) (done bool) {
		for {
			var r uintptr
			r, _, errno = unix.Syscall6(unix.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&scratch)), discardLength, unix.MSG_TRUNC|unix.MSG_DONTWAIT, 0, 0)
			n = int(r)
			if errno != unix.EINTR {
				return errno != unix.EAGAIN
			}
		}
	})
	if err == nil && errno != 0 {
		err = errno
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}
