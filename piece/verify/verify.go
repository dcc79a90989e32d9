// Package verify checks the bytes of a piece while they arrive.
//
// The payload of generated pieces is compared with the generator, byte by
// byte. That of imported pieces is compared with their checksums: all of a
// range that starts and ends on multiples of piece.Piece.CheckedBlock, else the
// whole blocks in it. The zeros after the payload, which a piece is served with
// under its v1 CID, are compared too.
package verify

import (
	"bytes"
	"fmt"

	"piecebench/piece"
	"piecebench/piece/checksum"
	"piecebench/piece/payload"

	"github.com/cespare/xxhash/v2"
)

// Error says that bytes are not the piece's.
type Error struct {
	Piece  string // CID v1
	Offset int64  // in the piece, of the first wrong byte, or of the wrong block
	// Block is 0 where the byte at Offset is wrong, and Got and Want are known;
	// else the size of the block at Offset whose checksum is wrong.
	Block     int64
	Got, Want byte
}

func (e *Error) Error() string {
	if e.Block > 0 {
		return fmt.Sprintf("piece %s: wrong checksum of the %d bytes at offset %d", e.Piece, e.Block, e.Offset)
	}
	return fmt.Sprintf("piece %s: byte %d is 0x%02x, want 0x%02x", e.Piece, e.Offset, e.Got, e.Want)
}

// Reference is what the bytes of one piece are compared with. It is safe for
// concurrent use.
type Reference struct {
	piece  piece.Piece
	stream *payload.Stream // of a generated piece
	sums   *checksum.Table // of an imported one
}

// Open returns the reference of p, one of m's pieces. dir is the manifest's
// folder: an imported piece's checksums are read into memory, 512 KiB for each
// GiB.
func Open(dir string, m *piece.Manifest, p piece.Piece) (*Reference, error) {
	if p.Generated() {
		return &Reference{piece: p, stream: payload.New(m.Seed, p.Index)}, nil
	}
	if !p.Checkable() {
		return nil, fmt.Errorf("piece %s has no checksums", p.CID)
	}
	sums, err := checksum.Load(dir, p)
	return &Reference{piece: p, sums: sums}, err
}

// OpenAll returns the references of all of a manifest's pieces, in its order.
func OpenAll(dir string, m *piece.Manifest) ([]*Reference, error) {
	all := make([]*Reference, len(m.Pieces))
	for i, p := range m.Pieces {
		var err error
		if all[i], err = Open(dir, m, p); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Checker checks one range of a piece. It is for one goroutine, and takes
// under 2 KB.
type Checker struct {
	*Reference
	start, end int64 // of the range
	off        int64 // of the next byte

	generated *payload.Checker // of stream, at off
	digest    xxhash.Digest    // of the block that off is in, up to off
	checked   int64
	err       error
}

// Range returns a checker of length bytes from offset on, both in bytes of the
// unpadded piece.
func (r *Reference) Range(offset, length int64) *Checker {
	if offset < 0 || length < 0 || length > r.piece.UnpaddedSize()-offset {
		panic(fmt.Sprintf("verify: %d bytes at %d are not inside piece %s", length, offset, r.piece.CID))
	}
	c := &Checker{Reference: r, start: offset, end: offset + length, off: offset}
	if r.stream != nil {
		c.generated = r.stream.CheckerAt(offset)
	}
	return c
}

// Checked returns how many bytes were compared so far, and found right.
func (c *Checker) Checked() int64 { return c.checked }

// Write checks the next bytes of the range. Once it has failed, it fails
// always with the same error, which is an *Error, or says that there are more
// bytes than the range has.
func (c *Checker) Write(b []byte) (n int, err error) {
	if c.err == nil && int64(len(b)) > c.end-c.off {
		c.err = fmt.Errorf("piece %s: more bytes than the range, which ends at %d", c.piece.CID, c.end)
	}
	for n < len(b) && c.err == nil {
		rest := b[n:]
		switch {
		case c.off >= c.piece.PayloadSize:
			c.zeros(rest)
			n += len(rest)
		case c.stream != nil:
			rest = rest[:min(int64(len(rest)), c.piece.PayloadSize-c.off)]
			c.compare(rest)
			n += len(rest)
		default:
			n += c.sum(rest)
		}
	}
	return n, c.err
}

func (c *Checker) compare(b []byte) {
	if i := c.generated.Mismatch(b); i >= 0 {
		var want [1]byte
		c.stream.Fill(want[:], c.off+int64(i))
		c.err = &Error{Piece: c.piece.CID, Offset: c.off + int64(i), Got: b[i], Want: want[0]}
		return
	}
	c.pass(len(b))
}

// zeroBlock is what the end of a piece is compared with.
var zeroBlock [32 << 10]byte

func (c *Checker) zeros(b []byte) {
	for len(b) > 0 && c.err == nil {
		part := b[:min(len(b), len(zeroBlock))]
		if !bytes.Equal(part, zeroBlock[:len(part)]) {
			i := 0
			for part[i] == 0 {
				i++
			}
			c.err = &Error{Piece: c.piece.CID, Offset: c.off + int64(i), Got: part[i]}
			return
		}
		c.pass(len(part))
		b = b[len(part):]
	}
}

// pass moves on over n bytes that were compared and found right.
func (c *Checker) pass(n int) {
	c.off += int64(n)
	c.checked += int64(n)
}

// sum takes bytes of the block that off is in, and compares its checksum at
// its end. It returns how many bytes it took.
func (c *Checker) sum(b []byte) int {
	index := c.off / c.sums.Block
	start := index * c.sums.Block
	end := min(start+c.sums.Block, c.piece.PayloadSize)
	b = b[:min(int64(len(b)), end-c.off)]
	inOne := int64(len(b)) == end-start // all of the block at once
	whole := start >= c.start && end <= c.end
	if whole && !inOne {
		if c.off == start {
			c.digest.Reset()
		}
		c.digest.Write(b)
	}
	c.off += int64(len(b))
	if !whole || c.off < end {
		return len(b)
	}
	var sum uint64
	if inOne {
		sum = xxhash.Sum64(b)
	} else {
		sum = c.digest.Sum64()
	}
	if !c.sums.Right(index, sum) {
		c.err = &Error{Piece: c.piece.CID, Offset: start, Block: end - start}
		return len(b)
	}
	c.checked += end - start
	return len(b)
}
