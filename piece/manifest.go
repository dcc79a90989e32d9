// Package piece holds the manifest of a dataset, pieces.json: which pieces it
// has, where their bytes are, and how these can be produced or checked.
package piece

import (
	"fmt"
	"slices"

	"piecebench/piece/bytesize"
	"piecebench/piece/piececid"
	"piecebench/piece/pieceurl"
)

// ManifestVersion is the newest version of pieces.json that this package reads.
// Version 1 has no Piece.ChecksumFile; version 2 has no pieces that are on a server
// only. Save writes the oldest version that has what the manifest needs, so that a
// generated dataset's has the same bytes whichever piecebench made it.
const ManifestVersion = 3

// Manifest is the content of pieces.json: the pieces of one dataset and how
// their payload can be produced or checked. Paths are relative to the
// manifest's own folder.
type Manifest struct {
	Version int `json:"version"`
	// Seed keys the generator of every piece that is Generated.
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
	// PayloadSize is the number of payload bytes, before zero padding and fr32. Of a
	// piece of which only the CID v1 is known, it may count zeros after the payload,
	// and CIDv2 agrees with it.
	PayloadSize int64 `json:"payload_size"`
	// PaddedSize is the fr32-padded piece size, a power of two of at least 128.
	// The unpadded size, which a v1 CID is served with, is PaddedSize/128*127:
	// the payload and then zeros.
	PaddedSize int64 `json:"padded_size"`
	// Flat is the file that holds the unpadded piece (payload, then zeros), or a symbolic
	// link to one that holds the payload (see PayloadOnly). It and
	// Sector are empty where a server has the piece, and this machine has no copy.
	Flat string `json:"flat"`
	// Sector is the unsealed sector file that holds the padded piece at
	// SectorOffset, which is a multiple of PaddedSize.
	Sector       string `json:"sector"`
	SectorOffset int64  `json:"sector_offset"`
	// PayloadOnly is of a piece that is served without the zeros after its payload under
	// its CID v1 too, as Curio does, and as a server of files does whose flat file is a link.
	PayloadOnly bool `json:"payload_only,omitempty"`
	// ChecksumFile, of pieces that are not generated, holds the checksums of the payload's
	// consecutive blocks of ChecksumBlock bytes: see piecebench/piece/checksum.
	ChecksumFile *ChecksumFile `json:"checksum_file,omitempty"`
	// Checksums are what imported pieces of version 1 have instead: the xxhash64
	// values, as 16 hex digits each, of blocks of 1 MiB (the last may be short).
	Checksums []string `json:"checksums,omitempty"`
}

// ChecksumFile names a file of checksums.
type ChecksumFile struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // of the file, as 64 hex digits
}

// UnpaddedSize returns the size of the piece as a v1 CID names it.
func (p Piece) UnpaddedSize() int64 { return Unpadded(p.PaddedSize) }

// Unpadded returns how many bytes a piece of a padded size holds: 127/128 of it.
func Unpadded(padded int64) int64 { return padded / 128 * 127 }

// SizeAs returns the number of bytes that the piece is served with under a CID
// of this version: v2 names the payload, v1 the unpadded piece (see PayloadOnly).
func (p Piece) SizeAs(version int) int64 {
	if version == 2 || p.PayloadOnly {
		return p.PayloadSize
	}
	return p.UnpaddedSize()
}

// URL returns the piece's URL by a template (see pieceurl), and how many bytes it is
// served with there.
func (p Piece) URL(template string) (address string, size int64, err error) {
	version, err := pieceurl.Version(template)
	return pieceurl.Fill(template, p.CID, p.CIDv2), p.SizeAs(version), err
}

// ChecksumBlock is the size of the blocks that a ChecksumFile is of, in bytes;
// checksumBlock1 that of version 1.
const (
	ChecksumBlock  = 16 << 10
	checksumBlock1 = 1 << 20
)

// Remote reports whether only a server has the piece: the dataset has no copy.
func (p Piece) Remote() bool { return p.Flat == "" && p.Sector == "" }

// Generated reports whether the payload comes from the generator
// (piecebench/piece/payload) and not from an imported file, or a server's piece.
func (p Piece) Generated() bool { return !p.Remote() && !p.summed() }

// Checkable reports whether anything is known of the payload that it can be checked
// with: the generator, or checksums.
func (p Piece) Checkable() bool { return !p.Remote() || p.summed() }

func (p Piece) summed() bool { return p.ChecksumFile != nil || len(p.Checksums) > 0 }

// CheckedBlock returns the size of the blocks in which the payload can be
// checked, in bytes: 1 of a generated piece. Of a range that starts and ends on
// multiples of it, or at the piece's end, every byte can be.
func (p Piece) CheckedBlock() int64 {
	switch {
	case p.ChecksumFile != nil:
		return ChecksumBlock
	case len(p.Checksums) > 0:
		return checksumBlock1
	}
	return 1
}

// CheckRanges refuses ranges of this many bytes where they do not fit into
// every piece, as a CID of this version names it, or, if they are to be verified,
// where not all of their bytes can be. A length of 0 is whole pieces.
func (m *Manifest) CheckRanges(length int64, version int, verify bool) error {
	for _, p := range m.Pieces {
		block := p.CheckedBlock()
		switch size := p.SizeAs(version); {
		case length > size:
			return fmt.Errorf("the range is larger than piece %s, which holds %d bytes: use smaller ranges or larger pieces", p.CID, size)
		case verify && !p.Checkable():
			return fmt.Errorf("piece %s has no checksums to verify answers with: add it with piecebench dataset add --verify, or give VERIFY=0", p.CID)
		case verify && length%block != 0 && block == checksumBlock1:
			return fmt.Errorf("ranges of piece %s can be verified in blocks of 1MiB only: import its file again, which makes the blocks %s, choose a multiple of 1MiB, or VERIFY=0",
				p.CID, bytesize.String(ChecksumBlock))
		case verify && length%block != 0:
			return fmt.Errorf("ranges of imported piece %s are verified in blocks of %s: choose a multiple of that, or VERIFY=0", p.CID, bytesize.String(block))
		}
	}
	return nil
}

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
