package store

import (
	"errors"
	"os"
	"runtime"
	"time"
)

// turns shares the processors and the disk among the transfers, in the order in which they
// come.
//
// A turn is one Send: it copies a block from the page cache to a socket. This takes about
// 100 us of CPU time and does not block, so the number of simultaneous turns is GOMAXPROCS.
// The other transfers whose sockets are writable wait here. In the queues of Go's scheduler,
// a new connection or request would wait behind all of them. As threads in the kernel, they
// would preempt each other. A read that waits for the disk is not part of a turn, because
// the processor would be idle. The number of such reads has a limit of its own.
type turns struct {
	running chan struct{}
	disk    chan struct{}
	observe func(time.Duration)
}

func newTurns(c Config) *turns {
	return &turns{
		running: make(chan struct{}, runtime.GOMAXPROCS(0)),
		disk:    make(chan struct{}, c.Reads),
		observe: c.Observe,
	}
}

// errDisk means that a read would have to wait for the disk.
var errDisk = errors.New("not in the page cache")

// begin waits for a turn and reads. It first calls read within the turn. If that returns
// errDisk, begin ends the turn, calls read with wait set, and waits for another turn. After
// an error the caller has no turn.
func (t *turns) begin(read func(wait bool) error) error {
	t.running <- struct{}{}
	err := read(false)
	if err == nil {
		return nil
	}
	t.end()
	if err != errDisk {
		return err
	}
	// It is held until the turn comes, too, which limits the buffers in use.
	t.disk <- struct{}{}
	defer func() { <-t.disk }()
	if err := read(true); err != nil {
		return err
	}
	t.running <- struct{}{}
	return nil
}

func (t *turns) end() { <-t.running }

// readHead fills p outside of a turn. It is meant for the few bytes at the start of a
// response.
func (t *turns) readHead(f *os.File, p []byte, off int64) error {
	err := t.read(f, p, off, false)
	if err == errDisk {
		t.disk <- struct{}{}
		defer func() { <-t.disk }()
		err = t.read(f, p, off, true)
	}
	return err
}

// read fills p from a file. Unless wait is set, it reads from the page cache only. Errors
// are errDisk and *Error.
func (t *turns) read(f *os.File, p []byte, off int64, wait bool) error {
	start := time.Now()
	if !wait {
		// If the file system does not support this flag, every read may wait. Other errors
		// come again from the read that waits.
		n, err := readNow(int(f.Fd()), p, off)
		if err != nil || n < len(p) {
			return errDisk
		}
	} else if _, err := f.ReadAt(p, off); err != nil {
		return &Error{f.Name(), noEOF(bare(err))}
	}
	t.observe(time.Since(start))
	return nil
}
