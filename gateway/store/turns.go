package store

import (
	"errors"
	"os"
	"runtime"
	"time"
)

// turns share the processors and the disk among transfers, first come, first
// served.
//
// A turn is one Send: a block out of the page cache is copied into a socket.
// That takes some 100 us of a processor and waits for nothing, so there are as
// many turns at a time as Go has processors. The other transfers whose sockets
// are writable wait here and not in the scheduler's queues, where a new
// connection or request would have to wait behind all of them, and not as
// threads inside the kernel, where they would take the processors from each
// other. Reads that wait for the disk are not made in a turn, as they would
// keep the processors idle; their number has a limit of its own.
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

// errDisk says that a read would have to wait for the disk.
var errDisk = errors.New("not in the page cache")

// begin waits for a turn and for what read reads. It calls read in the turn
// first. If that returns errDisk, it gives the turn up, calls read again with
// leave to wait for the disk, and waits for another turn. After an error there
// is no turn.
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
	// Also while waiting for the turn, to bound how many hold what they read.
	t.disk <- struct{}{}
	defer func() { <-t.disk }()
	if err := read(true); err != nil {
		return err
	}
	t.running <- struct{}{}
	return nil
}

func (t *turns) end() { <-t.running }

// readHead fills p outside of any turn. It is for the few bytes that a response
// begins with.
func (t *turns) readHead(f *os.File, p []byte, off int64) error {
	err := t.read(f, p, off, false)
	if err == errDisk {
		t.disk <- struct{}{}
		defer func() { <-t.disk }()
		err = t.read(f, p, off, true)
	}
	return err
}

// read fills p from a file, if it may not wait for the disk only out of the
// page cache. Errors are errDisk and *Error.
func (t *turns) read(f *os.File, p []byte, off int64, wait bool) error {
	start := time.Now()
	if !wait {
		// Where a file system does not know this flag, each read may wait. What
		// else is wrong is told by the read that does.
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
