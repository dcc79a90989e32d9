package wire

import (
	"io"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"piecebench/gateway/store"
)

// Section is a run of bytes of a store's object, to be given to io.Copy once,
// with a Conn's http.ResponseWriter as the destination.
type Section struct {
	object store.Object
	off    int64
	left   int64
	// sent is called with the number of bytes of each successful write.
	sent func(n int64)
}

// NewSection returns the n bytes of object from off on.
func NewSection(object store.Object, off, n int64, sent func(n int64)) *Section {
	return &Section{object, off, n, sent}
}

// Read reads through the heap. net/http does that for the first 512 bytes,
// which it writes together with the response head.
func (s *Section) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.object.ReadAt(p[:min(int64(len(p)), s.left)], s.off)
	s.advance(int64(n))
	return n, err
}

// send writes the section into a socket. While the socket takes nothing this
// goroutine is parked, and holds nothing of the store.
func (s *Section) send(socket syscall.RawConn) (sent int64, err error) {
	var failed error
	err = socket.Write(func(fd uintptr) (done bool) {
		for s.left > 0 {
			n, err := s.object.Send(int(fd), s.off, s.left)
			s.advance(n)
			sent += n
			if err == unix.EAGAIN {
				return false
			}
			if err != nil {
				failed = err
				return true
			}
			// Between the turns of a client that takes all at once. The Go
			// scheduler alone would let it go on for 10 ms, that is 50 MB, and
			// 1000 such clients make each other wait for seconds.
			runtime.Gosched()
		}
		return true
	})
	if failed != nil {
		err = failed
	}
	return sent, err
}

func (s *Section) advance(n int64) {
	s.off += n
	s.left -= n
	s.sent(n)
}
