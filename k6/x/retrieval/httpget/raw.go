package httpget

import (
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"piecebench/internal/receive"
)

// rawConn reads a TCP socket past net.Conn: to drop bytes in the kernel, to
// hold no buffer while it waits, and to wait for many bytes at once.
type rawConn struct {
	sock  syscall.RawConn
	count *int64 // received bytes of k6's dialer

	recvStep, copyStep func(fd uintptr) bool // method values, made once

	// One read: what is asked for, and what came.
	max   int
	buf   []byte // nil drops the bytes
	n     int
	err   error
	asked bool // the batch is known to be complete

	batches
}

// maxDrop is the most that one call may drop: any more than what a receive
// buffer holds.
const maxDrop = 1 << 30

// copyBuffers are large: a copy costs 0.31 CPU-seconds per GB with 8 KB, and 0.25 with
// 256 KiB. Few are needed, since none is held while waiting for bytes. Their number is
// limited, because a goroutine that returns from a read may find its processor taken:
// with 1000 clients, 180 goroutines queued with a buffer each.
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
	r.recvStep, r.copyStep = r.tryRecv, r.tryCopy
	return r
}

// drop waits for bytes, discards at most max of them, and returns how many.
func (r *rawConn) drop(max int64) (int, error) {
	return r.read(r.recvStep, max)
}

// fill waits for bytes, puts them into p, and returns how many.
func (r *rawConn) fill(p []byte) (int, error) {
	r.buf = p
	n, err := r.read(r.recvStep, int64(len(p)))
	r.buf = nil
	return n, err
}

// copy waits for bytes, hands at most max of them to use, and returns how many.
func (r *rawConn) copy(max int64, use func([]byte) error) (int, error) {
	n, err := r.read(r.copyStep, max)
	if n > 0 {
		if wrong := use(r.buf[:n]); wrong != nil {
			err = wrong
		}
		copyBuffers <- r.buf
		r.buf = nil
	}
	return n, err
}

// read waits for bytes and receives them. It may return bytes together with the error of
// a deadline, but with no other error.
func (r *rawConn) read(step func(uintptr) bool, max int64) (int, error) {
	r.max = int(min(max, maxDrop))
	r.n, r.err, r.asked = 0, nil, r.full
	err := r.sock.Read(step)
	if isTimeout(err) && r.lowat > 1 {
		// What is there is less than a batch.
		r.asked = true
		r.sock.Control(func(fd uintptr) { step(fd) })
	}
	if r.err != nil {
		return 0, r.err
	}
	if err == nil && r.n == 0 {
		return 0, io.EOF
	}
	r.took(r.n, r.n == r.max)
	atomic.AddInt64(r.count, int64(r.n))
	return r.n, err
}

// tryCopy is tryRecv into a buffer that is taken now.
func (r *rawConn) tryCopy(fd uintptr) bool {
	if r.mustWait(fd) {
		return false
	}
	r.buf = takeCopyBuffer()
	r.max = min(r.max, len(r.buf))
	done := r.tryRecv(fd)
	if r.n == 0 {
		copyBuffers <- r.buf
		r.buf = nil
	}
	return done
}

// tryRecv reports false when there is nothing to read yet.
func (r *rawConn) tryRecv(fd uintptr) bool {
	if r.mustWait(fd) {
		return false
	}
	n, err := receive.Now(fd, r.buf, r.max)
	if err == unix.EAGAIN {
		return false
	}
	r.n, r.err = n, err
	return true
}

// mustWait reports, once per read, whether fewer bytes are there than a batch has. A recv
// would not wait for the rest: it takes what is there.
func (r *rawConn) mustWait(fd uintptr) bool {
	if r.asked {
		return false
	}
	r.asked = true
	r.prepare(fd)
	return r.lowat > 1 && !r.readable(fd)
}

// endBatches lets single bytes wake the reader again, such as those of the next head.
func (r *rawConn) endBatches() {
	r.rest = 0
	if r.lowat > 1 {
		r.sock.Control(func(fd uintptr) { r.mark(fd, 1) })
	}
}

// unacknowledged reports whether the other end has not yet acknowledged some bytes. What
// it sends after it has received them acknowledges them.
func (r *rawConn) unacknowledged() bool {
	var n int
	err := r.sock.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	return err == nil && n > 0
}

// quiet reports whether the socket is open and holds no byte.
func (r *rawConn) quiet() bool {
	quiet := false
	err := r.sock.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = err == syscall.EAGAIN
	})
	return err == nil && quiet
}
