// Package commp computes piece commitments: the payload is filled up with
// zeros to 127 * 2^n bytes, brought into fr32 form, and made the 32-byte
// leaves of a binary tree of sha2-256 with the top two bits of every result
// cleared. Leaves are not hashed themselves.
package commp

import (
	"fmt"
	"io"
	"runtime"
	"sync"

	"piecebench/piece/fr32"
	"piecebench/piece/piececid"

	"github.com/prysmaticlabs/gohashtree"
)

// The tree is computed in parts of 1 MiB, which are whole subtrees: a part of
// a piece's payload, and what it is in fr32 form, in bytes.
const (
	PartPayload = PartPadded / fr32.Padded * fr32.Payload
	PartPadded  = 1 << 20
)

const nodeSize = 32

// Sum reads a payload to its end and returns its piece CID v2, from which
// CID.V1 makes the v1. It uses all cores, some megabytes of memory for each,
// and 32 bytes for each MiB read.
func Sum(r io.Reader) (piececid.CID, error) {
	var (
		mu    sync.Mutex // of r, and of what follows
		roots []piececid.Root
		size  int64
		err   error
	)
	read := func(buf []byte) (index, n int) {
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			n, err = fill(r, buf)
		}
		if n > 0 {
			size += int64(n)
			roots = append(roots, piececid.Root{})
		}
		return len(roots) - 1, n
	}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) + 1 { // one of them reads
		workers.Go(func() {
			data, padded := make([]byte, PartPayload), make([]byte, PartPadded)
			for {
				index, n := read(data)
				if n == 0 {
					return
				}
				root := PartRoot(padded, data[:n], index == 0)
				mu.Lock()
				roots[index] = root
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if err != io.EOF {
		return piececid.CID{}, fmt.Errorf("after %d bytes: %w", size, err)
	}
	paddedSize, err := piececid.PaddedSize(size)
	if err != nil {
		return piececid.CID{}, err
	}
	return piececid.V2(Join(roots, paddedSize), size)
}

// fill reads until buf is full. Unlike io.ReadFull's, its error is io.EOF only
// at the payload's end, and io.ErrUnexpectedEOF only if the reader says so.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = r.Read(buf[n:])
		n += m
	}
	return n, err
}

// PartRoot returns the root of a part that is filled up with zeros: to a whole
// part, or, if it is the first, which can be the only one, to the smallest piece
// that holds it. It uses padded, of PartPadded bytes, and data's capacity, which is
// PartPayload at least, as scratch space.
func PartRoot(padded, data []byte, first bool) piececid.Root {
	size := PartPadded
	if first {
		// Sum refuses payloads that are too small for a piece later on.
		if n, err := piececid.PaddedSize(int64(len(data))); err == nil {
			size = int(n)
		}
	}
	whole := data[:size/fr32.Padded*fr32.Payload]
	clear(whole[len(data):])
	fr32.Pad(padded, whole)
	return Root(padded[:size])
}

// Join returns the root of a piece from those of its parts. A piece of at most
// one part is that part, PaddedSize large; in a larger one, parts after those
// given are all zeros.
func Join(parts []piececid.Root, paddedSize int64) piececid.Root {
	if len(parts) == 1 && paddedSize <= PartPadded {
		return parts[0]
	}
	nodes := make([]byte, 0, paddedSize/PartPadded*nodeSize)
	for _, root := range parts {
		nodes = append(nodes, root[:]...)
	}
	for zero := zeroPart(); len(nodes) < cap(nodes); {
		nodes = append(nodes, zero[:]...)
	}
	return Root(nodes)
}

// zeroPart returns the root of a part that is all zeros.
var zeroPart = sync.OnceValue(func() piececid.Root { return Root(make([]byte, PartPadded)) })

// tileSize is how many bytes of nodes are made at a time.
const tileSize = 4 << 10

// Root returns the root of the tree over padded bytes, a power of two of at
// least 32. It overwrites them.
//
// gohashtree hashes pairs of nodes side by side: measured at 2.6 times the
// speed of crypto/sha256, one pair after the other.
func Root(padded []byte) piececid.Root {
	tile := make([]byte, tileSize)
	for len(padded) > nodeSize {
		half := padded[:len(padded)/2]
		for at := 0; at < len(half); at += tileSize {
			nodes := tile[:min(tileSize, len(half)-at)]
			if err := gohashtree.HashByteSlice(nodes, padded[2*at:2*at+2*len(nodes)]); err != nil {
				panic(err) // only for lengths that are not of whole pairs
			}
			for last := nodeSize - 1; last < len(nodes); last += nodeSize {
				nodes[last] &= 0x3f
			}
			copy(half[at:], nodes)
		}
		padded = half
	}
	return piececid.Root(padded)
}
