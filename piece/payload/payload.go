// Package payload generates the content of generated pieces: a pure function
// of (seed, piece index, offset), so that any range of any piece can be
// produced, or checked, without a copy of it.
//
// The payload of a piece is the AES-128-CTR keystream whose key is the seed
// and the piece index, each as 8 little-endian bytes, and whose counter starts
// at zero. In Python:
//
//	from Crypto.Cipher import AES
//	key = struct.pack("<QQ", seed, index)
//	data = AES.new(key, AES.MODE_CTR, nonce=b"").encrypt(bytes(size))
//
// or from the shell, for seed 1, piece 0:
//
//	head -c 1000 /dev/zero | openssl enc -aes-128-ctr -K 01000000000000000000000000000000 -iv 0
package payload

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"sync"
)

// Stream is the endless content of one piece. It is safe for concurrent use.
type Stream struct {
	block cipher.Block
}

// New returns the content of the piece with this index in datasets of this seed.
func New(seed, index uint64) *Stream {
	var key [16]byte
	binary.LittleEndian.PutUint64(key[:8], seed)
	binary.LittleEndian.PutUint64(key[8:], index)
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // only for a wrong key length
	}
	return &Stream{block: block}
}

// Fill sets p to the content from offset off on, which must not be negative.
func (s *Stream) Fill(p []byte, off int64) {
	clear(p)
	s.from(off).XORKeyStream(p, p)
}

// Mismatch returns the index of the first byte of p that differs from the
// content at offset off, or -1 if p is right.
func (s *Stream) Mismatch(p []byte, off int64) int {
	return mismatch(s.from(off), p)
}

// from returns the keystream at an offset.
func (s *Stream) from(off int64) cipher.Stream {
	var iv, skip [aes.BlockSize]byte
	binary.BigEndian.PutUint64(iv[8:], uint64(off)/aes.BlockSize)
	c := cipher.NewCTR(s.block, iv[:])
	if n := off % aes.BlockSize; n != 0 {
		c.XORKeyStream(skip[:n], skip[:n])
	}
	return c
}

// Checker compares consecutive bytes with the content; unlike
// Stream.Mismatch, it allocates nothing from one call to the next. It is for
// one goroutine.
type Checker struct {
	stream cipher.Stream
}

// CheckerAt returns a checker for the content from offset off on.
func (s *Stream) CheckerAt(off int64) *Checker { return &Checker{stream: s.from(off)} }

// Mismatch returns the index of the first byte of p that differs from the
// content, or -1 if p is right, and moves on by len(p). After a mismatch the
// checker's position is undefined.
func (c *Checker) Mismatch(p []byte) int { return mismatch(c.stream, p) }

// scratchSize keeps a block of p, and what is computed from it, in the
// innermost cache.
const scratchSize = 8 << 10

var (
	scratch = sync.Pool{New: func() any { return new([scratchSize]byte) }}
	zeros   [scratchSize]byte
)

func mismatch(stream cipher.Stream, p []byte) int {
	buf := scratch.Get().(*[scratchSize]byte)
	defer scratch.Put(buf)
	for done := 0; done < len(p); {
		n := min(len(p)-done, scratchSize)
		diff := buf[:n]
		stream.XORKeyStream(diff, p[done:done+n])
		if !bytes.Equal(diff, zeros[:n]) {
			i := 0
			for diff[i] == 0 {
				i++
			}
			return done + i
		}
		done += n
	}
	return -1
}
