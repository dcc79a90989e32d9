// Package receive takes bytes from TCP sockets by system call, so that they can be
// dropped in the kernel: a copy would cost more CPU time than all else.
package receive

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Now receives at most max bytes into buf, and does not wait: the error is unix.EAGAIN if
// there are none. Without buf the kernel drops them (MSG_TRUNC, tcp(7)).
// It returns 0 at the end of the stream.
func Now(fd uintptr, buf []byte, max int) (int, error) {
	flags := uintptr(unix.MSG_DONTWAIT)
	if buf == nil {
		flags |= unix.MSG_TRUNC
	}
	for {
		n, _, errno := syscall.Syscall6(syscall.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(max), flags, 0, 0)
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}

// Drop waits for bytes and drops at most max of them. It returns 0 at the end of the
// stream.
func Drop(conn syscall.RawConn, max int) (n int, err error) {
	if failed := conn.Read(func(fd uintptr) bool {
		n, err = Now(fd, nil, max)
		return err != unix.EAGAIN
	}); failed != nil {
		return 0, failed
	}
	return n, err
}
