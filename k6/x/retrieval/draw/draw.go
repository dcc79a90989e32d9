// Package draw decides which bytes a client asks for. The sequence is a pure
// function of (seed, client number): every target of a comparison is asked for
// the same pieces and offsets, in the same order by each client.
package draw

import (
	"math/rand/v2"
)

// Full as a length asks for whole pieces.
const Full = 0

// Object is one that ranges are drawn of.
type Object struct {
	Size  int64 // in bytes
	Align int64 // every range starts at a multiple of it; 1 for anywhere
}

// Range is what one request asks for.
type Range struct {
	Piece  int   // index into the objects
	Offset int64 // of the first byte
	Length int64 // in bytes; of the whole piece in mode full
}

// Sequence is the endless sequence of one client. It is for one goroutine.
type Sequence struct {
	objects []Object
	length  int64
	ranges  *rand.Rand
	checks  *rand.Rand
	script  *rand.Rand
}

// New returns the sequence of a client: ranges of length bytes, or Full, of
// these objects, none of which may be smaller than length.
func New(seed, client uint64, objects []Object, length int64) *Sequence {
	return &Sequence{
		objects: objects,
		length:  length,
		ranges:  rand.New(rand.NewPCG(seed, client)),
		// A stream of its own, so that the share of checked requests does not
		// change what is asked for.
		checks: rand.New(rand.NewPCG(^seed, client)),
		script: rand.New(rand.NewPCG(seed, ^client)),
	}
}

// Next draws the next object, uniformly, and the offset in it, uniformly over
// all aligned ones at which length bytes remain.
func (s *Sequence) Next() Range {
	i := s.ranges.IntN(len(s.objects))
	o := s.objects[i]
	if s.length == Full {
		return Range{Piece: i, Length: o.Size}
	}
	return Range{Piece: i, Offset: s.ranges.Int64N((o.Size-s.length)/o.Align+1) * o.Align, Length: s.length}
}

// Check draws whether the next request belongs to this share of all.
func (s *Sequence) Check(share float64) bool { return s.checks.Float64() < share }

// Random draws what a script chooses itself: a number from 0 to below 1.
func (s *Sequence) Random() float64 { return s.script.Float64() }
