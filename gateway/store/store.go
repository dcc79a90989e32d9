// Package store opens pieces where a storage provider keeps them, and sends
// them to sockets.
//
// No store holds memory or a thread for a client that is not taking bytes:
// what a send needs, it holds for one call, and the calls take turns.
package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/piece"
)

// A Store opens pieces. It is safe for concurrent use.
type Store interface {
	// Open opens a piece, after checking that the file it is in is there and
	// long enough. Errors are *Error.
	Open(p piece.Piece) (Object, error)
}

// Object is one open piece: the bytes that its v1 CID names, payload and then
// zeros. Offsets must be inside of these. It is safe for concurrent use until
// closed.
type Object interface {
	// ReadAt reads as io.ReaderAt does. Errors are *Error.
	io.ReaderAt
	// Send waits for its turn, then writes up to n bytes from off on to a
	// non-blocking stream socket, and returns how many it wrote: fewer without
	// an error only means that it wants to be called again. The error is unix.EAGAIN when the socket takes
	// no more for now, an *Error when the piece could not be read, else what
	// the socket failed with.
	Send(socket int, off, n int64) (int64, error)
	io.Closer
}

// Error says that a piece could not be read from its file, in contrast to
// could not be sent. It is the provider's fault, not the client's.
type Error struct {
	Path string
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("piece file %s: %v", e.Path, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// Names of the stores, as New takes them.
const (
	UnsealedName = "unsealed"
	FlatName     = "flat"
)

// Config is what the stores have in common.
type Config struct {
	Dir string // that the manifest's paths are relative to
	// Reads is how many reads may wait for the disk at the same time. Each
	// holds a thread, and in the unsealed store its buffers.
	Reads int
	// Observe is called with the time that each read of a file took.
	Observe func(time.Duration)
}

// New returns the store of this name.
func New(name string, config Config) (Store, error) {
	switch name {
	case UnsealedName:
		return NewUnsealed(config), nil
	case FlatName:
		return NewFlat(config), nil
	}
	return nil, fmt.Errorf("unknown store %q: use %s or %s", name, UnsealedName, FlatName)
}

// open opens a file below dir that must have at least size bytes. It is opened
// anew for each request: that costs 5 us, sees a replaced or lost file at once,
// and gives each client's stream a read-ahead state of its own. os.Open would
// ask the poller to take it, in five system calls, which it does not do.
func open(dir, name string, size int64) (*os.File, error) {
	if name == "" {
		return nil, &Error{dir, errors.New("the manifest names no file of this store for the piece")}
	}
	path := filepath.Join(dir, name)
	fd, err := retry(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &Error{path, fmt.Errorf("open: %w", err)}
	}
	f := os.NewFile(uintptr(fd), path)
	info, err := f.Stat()
	switch {
	case err != nil:
		err = bare(err)
	case !info.Mode().IsRegular():
		err = errors.New("not a regular file")
	case info.Size() < size:
		err = fmt.Errorf("short: %d bytes, the manifest needs %d", info.Size(), size)
	default:
		return f, nil
	}
	f.Close()
	return nil, &Error{path, err}
}

// bare takes the path off an error that will be given it again.
func bare(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("%s: %w", pe.Op, pe.Err)
	}
	return err
}

// retry calls a system call again while a signal interrupts it.
func retry(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); err != unix.EINTR {
			return n, err
		}
	}
}
