package store

import (
	"os"

	"golang.org/x/sys/unix"

	"piecebench/piece"
	"piecebench/piece/fr32"
)

// Unsealed serves pieces from unsealed sector files, in which pieces are fr32 padded. It
// reads and unpads only the 128-byte groups of the requested range, in blocks.
type Unsealed struct {
	dir     string
	turns   *turns
	buffers buffers
}

// A block is read, unpadded and written at once. It has 128 KiB: its two buffers fit in the
// L2 cache of a core, which has 1 MiB or more on servers. Of 32, 64, 128 and 256 KiB,
// measured with 10 to 1000 clients, it was always the best or close to it. 32 KiB took up
// to 50 % more CPU time.
const (
	blockGroups  = 1024
	blockPayload = blockGroups * fr32.Payload
	blockPadded  = blockGroups * fr32.Padded
)

// NewUnsealed returns a store of unsealed sectors. Each turn and each read from disk uses a
// buffer of 255 KiB.
func NewUnsealed(c Config) *Unsealed {
	return &Unsealed{dir: c.Dir, turns: newTurns(c)}
}

// Open opens the sector that holds a piece.
func (s *Unsealed) Open(p piece.Piece) (Object, error) {
	f, err := open(s.dir, p.Sector, p.SectorOffset+p.PaddedSize)
	if err != nil {
		return nil, err
	}
	return &unsealedObject{store: s, file: f, base: p.SectorOffset, taken: leastBlock}, nil
}

type unsealedObject struct {
	store *Unsealed
	file  *os.File
	base  int64
	taken int64 // bytes of the last block that the socket took
}

func (o *unsealedObject) ReadAt(p []byte, off int64) (int, error) {
	span := fr32.SpanOf(off, int64(len(p)))
	padded := make([]byte, span.Length)
	if err := o.store.turns.readHead(o.file, padded, o.base+span.Offset); err != nil {
		return 0, err
	}
	payload := make([]byte, span.Length/fr32.Padded*fr32.Payload)
	fr32.Unpad(payload, padded)
	return copy(p, payload[span.Skip:]), nil
}

// leastBlock is the minimum number of payload bytes to unpad for a socket, about the size
// of a small socket buffer.
const leastBlock = 16 << 10

// Send unpads one block and writes it. It drops the bytes that the socket does not take,
// and unpads them again later, so that no buffer waits for a client. A block is at most
// twice what the socket took of the last one. With 1000 clients at 1 Gbit/s, each takes a
// few packets at a time, and unpadding whole blocks took 2.3 CPU-seconds per GB.
func (o *unsealedObject) Send(socket int, off, n int64) (int64, error) {
	// Reads end at multiples of the block size, so all but the first are aligned to
	// pages.
	n = min(n, max(2*o.taken, leastBlock), blockPayload-off%blockPayload)
	span := fr32.SpanOf(off, n)
	var buf *buffer
	err := o.store.turns.begin(func(wait bool) error {
		buf = o.store.buffers.get()
		err := o.store.turns.read(o.file, buf.padded[:span.Length], o.base+span.Offset, wait)
		if err != nil {
			o.store.buffers.put(buf)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	defer o.store.turns.end()
	defer o.store.buffers.put(buf)
	fr32.Unpad(buf.payload[:], buf.padded[:span.Length])
	sent, err := writeNow(socket, buf.payload[span.Skip:][:n])
	if err != nil {
		o.taken = 0
		return 0, err
	}
	o.taken = int64(sent)
	if o.taken < n {
		err = unix.EAGAIN // another call would return it
	}
	return o.taken, err
}

func (o *unsealedObject) Close() error { return o.file.Close() }
