// Package draw decides which bytes a client asks for. The sequence is a pure
// function of (seed, client number): every target of a comparison is asked for
// the same pieces and offsets, in the same order by each client.
package draw

import (
	"math/rand/v2"
)

// Full as a length asks for whole pieces.
const Full = 0

// Range is what one request asks for.
type Range struct {
	Piece  int   // index into the sizes
	Offset int64 // of the first byte
	Length int64 // in bytes; of the whole piece in mode full
}

// Sequence is the endless sequence of one client. It is for one goroutine.
type Sequence struct {
	sizes  []int64
	length int64
	ranges *rand.Rand
	checks *rand.Rand
}

// New returns the sequence of a client: ranges of length bytes, or Full, of
// objects with these sizes, none of which may be smaller than length.
func New(seed, client uint64, sizes []int64, length int64) *Sequence {
	return &Sequence{
		sizes:  sizes,
		length: length,
		ranges: rand.New(rand.NewPCG(seed, client)),
		// A stream of its own, so that the share of checked requests does not
		// change what is asked for.
		checks: rand.New(rand.NewPCG(^seed, client)),
	}
}

// Next draws the next object, uniformly, and the offset in it, uniformly over
// all at which length bytes remain.
func (s *Sequence) Next() Range {
	i := s.ranges.IntN(len(s.sizes))
	if s.length == Full {
		return Range{Piece: i, Length: s.sizes[i]}
	}
	return Range{Piece: i, Offset: s.ranges.Int64N(s.sizes[i] - s.length + 1), Length: s.length}
}

// Check draws whether the next request belongs to this share of all.
func (s *Sequence) Check(share float64) bool { return s.checks.Float64() < share }
