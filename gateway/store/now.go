package store

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system calls of a turn wait for nothing, so they are made without telling
// Go's scheduler. It would take the processor from a call that lasts, as a
// write into a socket does, and wake another thread for it: with 1000 clients,
// 1 MiB ranges and two CPUs that left 7.4 of 9.0 Gbit/s.

// writeNow writes to a non-blocking socket.
func writeNow(socket int, p []byte) (int, error) {
	return retry(func() (int, error) {
		n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(socket), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		return result(n, errno)
	})
}

// readNow reads from a file what the page cache has.
func readNow(file int, p []byte, off int64) (int, error) {
	v := unix.Iovec{Base: unsafe.SliceData(p)}
	v.SetLen(len(p))
	return retry(func() (int, error) {
		n, _, errno := unix.RawSyscall6(unix.SYS_PREADV2, uintptr(file), uintptr(unsafe.Pointer(&v)), 1,
			uintptr(off), uintptr(off>>32), rwfNoWait) // the high half counts on 32-bit machines only
		return result(n, errno)
	})
}

// rwfNoWait is RWF_NOWAIT of preadv2(2).
const rwfNoWait = 0x8

func result(n uintptr, errno unix.Errno) (int, error) {
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
