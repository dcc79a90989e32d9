package store

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system calls of a turn do not block, so they bypass Go's scheduler. The scheduler
// would hand the processor to another thread during a long call, such as a write to a
// socket. With 1000 clients, 1 MiB ranges and two CPUs, that reduced 9.0 Gbit/s to 7.4.

// writeNow writes to a non-blocking socket.
func writeNow(socket int, p []byte) (int, error) {
	return retry(func() (int, error) {
		n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(socket), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		return result(n, errno)
	})
}

// readNow reads from a file only what is in the page cache.
func readNow(file int, p []byte, off int64) (int, error) {
	v := unix.Iovec{Base: unsafe.SliceData(p)}
	v.SetLen(len(p))
	return retry(func() (int, error) {
		n, _, errno := unix.RawSyscall6(unix.SYS_PREADV2, uintptr(file), uintptr(unsafe.Pointer(&v)), 1,
			uintptr(off), uintptr(off>>32), rwfNoWait) // the high half matters on 32-bit machines only
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
