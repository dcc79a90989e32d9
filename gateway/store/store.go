// Package store opens the files in which a storage provider keeps pieces, and sends pieces
// to sockets.
//
// A client that does not read occupies no buffer and no thread: each call to Send holds its
// buffer only until it returns, and the calls take turns.
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
	// Open opens a piece. It checks that the file exists and is long enough. Errors are
	// *Error.
	Open(p piece.Piece) (Object, error)
}

// Object is one open piece: the bytes that its v1 CID identifies, which are the payload
// followed by zeros. Offsets must be within these bytes. It is safe for concurrent use
// until it is closed.
type Object interface {
	// ReadAt reads as io.ReaderAt does. Errors are *Error.
	io.ReaderAt
	// Send waits for its turn, writes up to n bytes at off to a non-blocking stream
	// socket, and returns the number of bytes written. If that is less than n without an
	// error, call Send again. The error is unix.EAGAIN if the socket takes no more for
	// now, an *Error if the piece could not be read, and otherwise that of the socket.
	Send(socket int, off, n int64) (int64, error)
	io.Closer
}

// Error reports that a piece could not be read from its file, as opposed to not sent. The
// cause is at the provider, not at the client.
type Error struct {
	Path string
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("piece file %s: %v", e.Path, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// Names of the stores, for New.
const (
	UnsealedName = "unsealed"
	FlatName     = "flat"
)

// Config is the configuration of a store.
type Config struct {
	Dir string // the paths in the manifest are relative to it
	// Reads is the number of reads that may wait for the disk at the same time. Each one
	// occupies a thread, and in the unsealed store a buffer.
	Reads int
	// Observe is called with the duration of each read of a file.
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

// open opens a file below dir, which must have at least size bytes. Each request opens the
// file again. This takes 5 us, notices a replaced or missing file at once, and gives each
// client a read-ahead state of its own. os.Open would make five more system calls, to try
// to register the file with Go's poller.
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

// bare removes the path from an error. *Error adds it again.
func bare(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("%s: %w", pe.Op, pe.Err)
	}
	return err
}

// retry repeats a system call that a signal interrupts.
func retry(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); err != unix.EINTR {
			return n, err
		}
	}
}
