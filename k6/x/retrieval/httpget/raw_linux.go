package httpget

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// rawConn reads a TCP socket past net.Conn: to drop bytes in the kernel, and
// to hold no buffer while it waits.
type rawConn struct {
	sock  syscall.RawConn
	count *int64 // received bytes of k6's dialer

	dropStep, copyStep func(fd uintptr) bool // method values, made once

	// One read: what is asked for, and what came.
	max int
	buf *[]byte
	n   int
	err error
}

// maxDrop is the most that one call may drop: any more than what a receive
// buffer holds.
const maxDrop = 1 << 30

// copyBuffers are large, since a copy costs 0.31 CPU-seconds per GB with 8 KB
// and 0.25 with 256 KiB, and few, since none is held while waiting.
var copyBuffers = sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}

// newRawConn returns nil when nc is no socket.
func newRawConn(nc net.Conn, count *int64) *rawConn {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return nil
	}
	sock, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	r := &rawConn{sock: sock, count: count}
	r.dropStep, r.copyStep = r.tryDrop, r.tryCopy
	return r
}

// drop waits for bytes, discards at most max of them, and returns how many.
func (r *rawConn) drop(max int64) (int, error) {
	r.max = int(min(max, maxDrop))
	return r.read(r.dropStep)
}

// copy waits for bytes, hands at most max of them to use, and returns how many.
func (r *rawConn) copy(max int64, use func([]byte) error) (int, error) {
	r.max = int(min(max, maxDrop))
	n, err := r.read(r.copyStep)
	if r.buf != nil {
		if n > 0 {
			err = use((*r.buf)[:n])
		}
		copyBuffers.Put(r.buf)
		r.buf = nil
	}
	return n, err
}

func (r *rawConn) read(step func(uintptr) bool) (int, error) {
	r.n, r.err = 0, nil
	if err := r.sock.Read(step); err != nil {
		return 0, err
	}
	if r.n == 0 && r.err == nil {
		r.err = io.EOF
	}
	atomic.AddInt64(r.count, int64(r.n))
	return r.n, r.err
}

// tryDrop reports false when there is nothing to read yet. With MSG_TRUNC the
// kernel moves on in the stream without touching the buffer, so there is none.
func (r *rawConn) tryDrop(fd uintptr) bool {
	for {
		n, _, errno := syscall.Syscall6(syscall.SYS_RECVFROM, fd, 0, uintptr(r.max), syscall.MSG_TRUNC|syscall.MSG_DONTWAIT, 0, 0)
		if errno == 0 {
			r.n = int(n)
			return true
		}
		if done := r.failed(errno); done {
			return errno != syscall.EAGAIN
		}
	}
}

func (r *rawConn) tryCopy(fd uintptr) bool {
	r.buf = copyBuffers.Get().(*[]byte)
	for {
		n, err := syscall.Read(int(fd), (*r.buf)[:min(r.max, len(*r.buf))])
		if err == nil {
			r.n = n
			return true
		}
		if errno := err.(syscall.Errno); r.failed(errno) {
			copyBuffers.Put(r.buf)
			r.buf = nil
			return errno != syscall.EAGAIN
		}
	}
}

// failed keeps errno and reports whether the call is over: not when a signal
// interrupted it.
func (r *rawConn) failed(errno syscall.Errno) bool {
	if errno == syscall.EINTR {
		return false
	}
	if errno != syscall.EAGAIN {
		r.err = errno
	}
	return true
}

// quiet reports whether a kept connection can take another request: the server
// has neither closed it nor sent anything unasked.
func (r *rawConn) quiet() bool {
	quiet := false
	err := r.sock.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = err == syscall.EAGAIN
	})
	return err == nil && quiet
}
