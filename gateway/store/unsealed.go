package store

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/piece"
	"piecebench/piece/fr32"
)

// Unsealed serves pieces from unsealed sector files, in which they are fr32
// padded. It reads and unpads the 128-byte groups that a range touches, in
// blocks, and nothing more.
type Unsealed struct {
	Config
	buffers *buffers
}

// A block is what is read, unpadded and written at once: 128 KiB, whose two
// buffers stay in a core's L2 cache (1 MiB and up on servers). Measured with 32,
// 64, 128 and 256 KiB, and 10 to 1000 clients, it was best or near the best
// everywhere; 32 KiB cost up to a half more CPU.
const (
	blockGroups  = 1024
	blockPayload = blockGroups * fr32.Payload
	blockPadded  = blockGroups * fr32.Padded
)

// NewUnsealed returns a store of unsealed sectors. Each of its reads has
// buffers of 255 KiB.
func NewUnsealed(c Config) *Unsealed {
	return &Unsealed{Config: c, buffers: newBuffers(c.Reads)}
}

// Open opens the sector that holds a piece.
func (s *Unsealed) Open(p piece.Piece) (Object, error) {
	f, err := open(s.Dir, p.Sector, p.SectorOffset+p.PaddedSize)
	if err != nil {
		return nil, err
	}
	return &unsealedObject{store: s, file: f, base: p.SectorOffset, taken: blockPayload}, nil
}

type unsealedObject struct {
	store *Unsealed
	file  *os.File
	base  int64
	taken int64 // what the socket took of the last block
}

// leastBlock is the least payload that is unpadded for a socket: a small
// socket buffer's worth.
const leastBlock = 16 << 10

// block unpads up to n bytes from off on, at most to the end of the block that
// off is in, into buf, and returns them.
func (o *unsealedObject) block(buf *buffer, off, n int64) ([]byte, error) {
	// Ending at multiples of the block keeps all reads but the first aligned
	// to the page cache's pages.
	n = min(n, blockPayload-off%blockPayload)
	span := fr32.SpanOf(off, n)
	padded := buf.padded[:span.Length]
	start := time.Now()
	if _, err := o.file.ReadAt(padded, o.base+span.Offset); err != nil {
		return nil, &Error{o.file.Name(), noEOF(bare(err))}
	}
	o.store.Observe(time.Since(start))
	fr32.Unpad(buf.payload[:], padded)
	return buf.payload[span.Skip:][:n], nil
}

func (o *unsealedObject) ReadAt(p []byte, off int64) (int, error) {
	buf := o.store.buffers.get()
	defer o.store.buffers.put(buf)
	read := 0
	for read < len(p) {
		b, err := o.block(buf, off+int64(read), int64(len(p)-read))
		if err != nil {
			return read, err
		}
		read += copy(p[read:], b)
	}
	return read, nil
}

// Send unpads one block and writes it. What the socket does not take is
// dropped, and unpadded again when it can take more: so no buffer waits for a
// client. A block is at most twice what the socket took of the last one: with
// 1000 clients on 1 Gbit/s each takes a few packets at a time, and unpadding
// whole blocks for them cost 2.3 CPU-seconds per GB.
func (o *unsealedObject) Send(socket int, off, n int64) (int64, error) {
	buf := o.store.buffers.get()
	defer o.store.buffers.put(buf)
	b, err := o.block(buf, off, min(n, max(2*o.taken, leastBlock)))
	if err != nil {
		return 0, err
	}
	var sent int64
	defer func() { o.taken = sent }()
	for len(b) > 0 {
		n, err := retry(func() (int, error) { return unix.Write(socket, b) })
		if err != nil {
			return sent, err
		}
		b = b[n:]
		sent += int64(n)
	}
	return sent, nil
}

func (o *unsealedObject) Close() error { return o.file.Close() }
