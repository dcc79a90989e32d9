package store

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"piecebench/piece"
)

// Flat serves each piece from a file of its own, which holds the unpadded payload. It uses
// sendfile(2).
type Flat struct {
	dir   string
	turns *turns
}

// chunk is the maximum number of bytes per sendfile call. Copying so many bytes takes much
// longer than the call itself.
const chunk = 256 << 10

// NewFlat returns a store of flat files.
func NewFlat(c Config) *Flat {
	return &Flat{dir: c.Dir, turns: newTurns(c)}
}

// Open opens the flat file of a piece.
func (s *Flat) Open(p piece.Piece) (Object, error) {
	f, err := open(s.dir, p.Flat, p.SizeAs(1))
	if err != nil {
		return nil, err
	}
	return &flatObject{store: s, file: f, fd: int(f.Fd())}, nil
}

type flatObject struct {
	store *Flat
	file  *os.File
	fd    int
}

func (o *flatObject) ReadAt(p []byte, off int64) (int, error) {
	if err := o.store.turns.readHead(o.file, p, off); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (o *flatObject) Send(socket int, off, n int64) (int64, error) {
	n = min(n, chunk-off%chunk)
	if err := o.store.turns.begin(func(wait bool) error { return o.cache(off, n, wait) }); err != nil {
		return 0, err
	}
	defer o.store.turns.end()
	sent, err := retry(func() (int, error) { return unix.Sendfile(socket, o.fd, &off, int(n)) })
	switch {
	case err == unix.EIO || err == unix.EINVAL || err == unix.ESTALE || err == unix.ENOMEM:
		return 0, &Error{o.file.Name(), err} // errors of the file: a socket has none of these
	case err != nil:
		return 0, err
	case sent == 0:
		return 0, &Error{o.file.Name(), io.ErrUnexpectedEOF}
	}
	return int64(sent), nil
}

// cache checks that n bytes at off are in the page cache, by reading the first and the last
// of them. With wait, it reads them from disk.
func (o *flatObject) cache(off, n int64, wait bool) error {
	if wait {
		// A hint: read ahead this chunk, and the next one while this one is sent.
		unix.Fadvise(o.fd, off, 2*chunk, unix.FADV_WILLNEED)
	}
	var b [1]byte
	for _, at := range []int64{off, off + n - 1} {
		if err := o.store.turns.read(o.file, b[:], at, wait); err != nil {
			return err
		}
	}
	return nil
}

func (o *flatObject) Close() error { return o.file.Close() }

// noEOF turns io.EOF into io.ErrUnexpectedEOF: a file must not end within a piece.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
