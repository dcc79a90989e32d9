package store

import (
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/piece"
)

// Flat serves pieces from files that hold nothing else, unpadded, by
// sendfile(2).
type Flat struct {
	Config
	reads chan struct{} // a token for each sendfile that runs
}

// chunk is the most bytes that one sendfile call sends. A client that drains
// its socket meanwhile would else keep a thread for a whole piece; 1 MiB is
// some 100 us of copying, beside which the call itself is nothing.
const chunk = 1 << 20

// NewFlat returns a store of flat files.
func NewFlat(c Config) *Flat {
	return &Flat{Config: c, reads: make(chan struct{}, c.Reads)}
}

// Open opens a piece's flat file.
func (s *Flat) Open(p piece.Piece) (Object, error) {
	f, err := open(s.Dir, p.Flat, p.UnpaddedSize())
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
	start := time.Now()
	n, err := o.file.ReadAt(p, off)
	if err != nil {
		return n, &Error{o.file.Name(), noEOF(bare(err))}
	}
	o.store.Observe(time.Since(start))
	return n, nil
}

func (o *flatObject) Send(socket int, off, n int64) (int64, error) {
	o.store.reads <- struct{}{}
	defer func() { <-o.store.reads }()
	want := min(n, chunk)
	sent, err := retry(func() (int, error) { return unix.Sendfile(socket, o.fd, &off, int(want)) })
	switch {
	case err == unix.EIO || err == unix.EINVAL || err == unix.ESTALE || err == unix.ENOMEM:
		return 0, &Error{o.file.Name(), err} // no socket fails with these
	case err != nil:
		return 0, err
	case sent == 0:
		return 0, &Error{o.file.Name(), io.ErrUnexpectedEOF}
	}
	return int64(sent), nil
}

func (o *flatObject) Close() error { return o.file.Close() }

// noEOF makes the end of a file the fault that it is inside of a piece.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
