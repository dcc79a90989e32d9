package httpget

import (
	"io"
	"net"
	"runtime"
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
	max   int
	buf   []byte
	n     int
	err   error
	left  int64 // of the body
	asked bool  // whether the batch is complete

	batches
}

// maxDrop is the most that one call may drop: any more than what a receive
// buffer holds.
const maxDrop = 1 << 30

// copyBuffers are large, since a copy costs 0.31 CPU-seconds per GB with 8 KB
// and 0.25 with 256 KiB, and few, since none is held while waiting for bytes.
// They are few by force: a goroutine that comes back from the read finds its
// processor taken, and with 1000 clients 180 of them queued with a buffer each.
var copyBuffers = func() chan []byte {
	free := make(chan []byte, 4*runtime.GOMAXPROCS(0))
	for range cap(free) {
		free <- nil // made when it is first taken
	}
	return free
}()

func takeCopyBuffer() []byte {
	b := <-copyBuffers
	if b == nil {
		b = make([]byte, 256<<10)
	}
	return b
}

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
	return r.read(r.dropStep, max)
}

// copy waits for bytes, hands at most max of them to use, and returns how many.
func (r *rawConn) copy(max int64, use func([]byte) error) (int, error) {
	n, err := r.read(r.copyStep, max)
	if r.buf != nil {
		if n > 0 {
			err = use(r.buf[:n])
		}
		copyBuffers <- r.buf
		r.buf = nil
	}
	return n, err
}

func (r *rawConn) read(step func(uintptr) bool, max int64) (int, error) {
	r.max = int(min(max, maxDrop))
	r.left = max
	r.n, r.err, r.asked = 0, nil, false
	err := r.sock.Read(step)
	if isTimeout(err) && r.lowat > 1 {
		// There may be bytes, fewer than the low-water mark.
		came := false
		r.sock.Control(func(fd uintptr) { came = step(fd) })
		if came {
			err = nil
		}
	}
	if err != nil {
		return 0, err
	}
	if r.n == 0 && r.err == nil {
		r.err = io.EOF
	}
	r.total += int64(r.n)
	atomic.AddInt64(r.count, int64(r.n))
	return r.n, r.err
}

// tryDrop reports false when there is nothing to read yet. With MSG_TRUNC the
// kernel moves on in the stream without touching the buffer, so there is none.
func (r *rawConn) tryDrop(fd uintptr) bool {
	if r.mustWait(fd) {
		return false
	}
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
	if r.mustWait(fd) {
		return false
	}
	r.buf = takeCopyBuffer()
	for {
		n, err := syscall.Read(int(fd), r.buf[:min(r.max, len(r.buf))])
		if err == nil {
			r.n = n
			return true
		}
		if errno := err.(syscall.Errno); r.failed(errno) {
			copyBuffers <- r.buf
			r.buf = nil
			return errno != syscall.EAGAIN
		}
	}
}

// mustWait reports, once a read, whether fewer bytes are there than make a
// batch. A recv would not wait for them: it takes what there is.
func (r *rawConn) mustWait(fd uintptr) bool {
	if r.asked {
		return false
	}
	r.asked = true
	r.prepare(fd, r.left)
	return r.lowat > 1 && !r.readable(fd)
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

// endBatches lets single bytes wake the reader again: those of the next head.
func (r *rawConn) endBatches() {
	if r.lowat > 1 {
		r.sock.Control(func(fd uintptr) { r.mark(fd, 1) })
	}
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
