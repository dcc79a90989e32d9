// Package piece holds the manifest of a dataset, pieces.json: which pieces it
// has, where their bytes are, and how these can be produced or checked.
package piece

import (
	"slices"

	"piecebench/piece/piececid"
)

// ManifestVersion is the version of pieces.json that this package reads and writes.
const ManifestVersion = 1

// Manifest is the content of pieces.json: the pieces of one dataset and how
// their payload can be produced or checked. Paths are relative to the
// manifest's own folder.
type Manifest struct {
	Version int `json:"version"`
	// Seed keys the generator of every piece that has no Checksums.
	Seed   uint64  `json:"seed"`
	Pieces []Piece `json:"pieces"`

	byRoot map[piececid.Root]int // index into Pieces; set by Validate
}

// Piece is one Filecoin piece of a dataset. All sizes and offsets are in bytes.
type Piece struct {
	// Index keys this piece's payload generator, together with Manifest.Seed.
	Index uint64 `json:"index"`
	// CID is the piece CID v1 (baga6ea4seaq...), CIDv2 the FRC-0069 one (bafkzcib...).
	CID   string `json:"cid"`
	CIDv2 string `json:"cid_v2"`
	// PayloadSize is the number of payload bytes, before zero padding and fr32.
	PayloadSize int64 `json:"payload_size"`
	// PaddedSize is the fr32-padded piece size, a power of two of at least 128.
	// The unpadded size, which a v1 CID is served with, is PaddedSize/128*127:
	// the payload and then zeros.
	PaddedSize int64 `json:"padded_size"`
	// Flat is the file that holds the unpadded piece (payload, then zeros).
	Flat string `json:"flat"`
	// Sector is the unsealed sector file that holds the padded piece at
	// SectorOffset, which is a multiple of PaddedSize.
	Sector       string `json:"sector"`
	SectorOffset int64  `json:"sector_offset"`
	// Checksums, of imported pieces only, are the xxhash64 values, as 16 hex
	// digits each, of the payload's consecutive 1 MiB blocks (the last may be short).
	Checksums []string `json:"checksums,omitempty"`
}

// UnpaddedSize returns the size of the piece as a v1 CID names it: 127/128 of
// the padded size.
func (p Piece) UnpaddedSize() int64 { return p.PaddedSize / 128 * 127 }

// SizeAs returns the number of bytes that the piece is served with under a CID
// of this version: v2 names the payload, v1 the unpadded piece.
func (p Piece) SizeAs(version int) int64 {
	if version == 2 {
		return p.PayloadSize
	}
	return p.UnpaddedSize()
}

// ChecksumBlock is the size of the blocks that Piece.Checksums are of, in bytes.
const ChecksumBlock = 1 << 20

// Generated reports whether the payload comes from the generator
// (piecebench/piece/payload) and not from an imported file.
func (p Piece) Generated() bool { return len(p.Checksums) == 0 }

// Find returns the piece that a CID of either version names: a v2 CID must
// agree in its sizes too. The manifest must come from Load, or have passed
// Validate. Find is safe for concurrent use.
func (m *Manifest) Find(c piececid.CID) (p Piece, ok bool) {
	i, ok := m.byRoot[c.Root]
	if !ok || c.Version == 2 && c.PayloadSize != m.Pieces[i].PayloadSize {
		return Piece{}, false
	}
	return m.Pieces[i], true
}

// Files returns the paths of all flat and sector files, each once, in order.
func (m *Manifest) Files() (paths []string) {
	for _, p := range m.Pieces {
		for _, file := range []string{p.Flat, p.Sector} {
			if file != "" {
				paths = append(paths, file)
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
