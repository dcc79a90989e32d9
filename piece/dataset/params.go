// Package dataset makes, imports and checks datasets: the folder with
// flat/<CID v1> for plain file servers, sectors/<name> as an unsealed sector
// holds the same pieces, pieces.json (the manifest, piece.Manifest) and
// pieces.txt (one CID v1 a line).
package dataset

import (
	"fmt"
	"math/bits"

	"piecebench/piece"
	"piecebench/piece/bytesize"
)

// Params are what a generated dataset is a function of.
type Params struct {
	Pieces    int
	PieceSize int64 // padded size of each piece in bytes, see ParsePieceSize
	Seed      uint64
}

// Default is the dataset of a run that asks for no other one.
var Default = Params{Pieces: 4, PieceSize: 512 << 20, Seed: 1}

// Limits of Params. Filecoin has no piece outside these sizes.
const (
	MinPieceSize = 128
	MaxPieceSize = 64 << 30
	MaxPieces    = 1_000_000
)

// ParsePieceSize reads a padded piece size: a power of two from 128B to 64GiB.
func ParsePieceSize(s string) (int64, error) {
	n, err := bytesize.Parse(s)
	if err != nil {
		return 0, fmt.Errorf("piece %w", err)
	}
	return n, checkPieceSize(n)
}

func checkPieceSize(n int64) error {
	switch name := bytesize.String; {
	case n < MinPieceSize:
		return fmt.Errorf("piece size %s: the smallest piece is %s", name(n), name(MinPieceSize))
	case n > MaxPieceSize:
		return fmt.Errorf("piece size %s: the largest piece is %s", name(n), name(MaxPieceSize))
	case n&(n-1) != 0:
		below := int64(1) << (bits.Len64(uint64(n)) - 1)
		return fmt.Errorf("piece size %s is not a power of two: the nearest are %s and %s", name(n), name(below), name(2*below))
	}
	return nil
}

func (p Params) check() error {
	if p.Pieces < 1 || p.Pieces > MaxPieces {
		return fmt.Errorf("%d pieces: want 1 to %d", p.Pieces, MaxPieces)
	}
	return checkPieceSize(p.PieceSize)
}

func (p Params) String() string {
	return fmt.Sprintf("%d x %s, seed %d", p.Pieces, bytesize.String(p.PieceSize), p.Seed)
}

// made reports whether m is of the dataset that p names.
func (p Params) made(m *piece.Manifest) bool {
	if m.Seed != p.Seed || len(m.Pieces) != p.Pieces {
		return false
	}
	for i, have := range m.Pieces {
		if !have.Generated() || have.Index != uint64(i) || have.PaddedSize != p.PieceSize || have.PayloadSize != have.UnpaddedSize() {
			return false
		}
	}
	return true
}
