package piece

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"

	"piecebench/piece/piececid"
)

// Validate checks that the manifest is complete and agrees with itself: its
// version, each piece's CIDs with each other and with the sizes, paths inside
// the folder, no piece or file twice, sector ranges aligned and apart. It also
// makes the pieces known to Find.
func (m *Manifest) Validate() error {
	if m.Version < 1 || m.Version > ManifestVersion {
		return fmt.Errorf("version %d, and this program knows only 1 to %d", m.Version, ManifestVersion)
	}
	if len(m.Pieces) == 0 {
		return errors.New("it has no pieces")
	}
	byRoot := make(map[piececid.Root]int, len(m.Pieces))
	indexes := make(map[uint64]int, len(m.Pieces))
	for i, p := range m.Pieces {
		root, err := p.validate(m.Version)
		if err != nil {
			return pieceError(i, p, err)
		}
		if first, ok := byRoot[root]; ok {
			return pieceError(i, p, fmt.Errorf("the same CID as piece %d", first))
		}
		if first, ok := indexes[p.Index]; ok {
			return pieceError(i, p, fmt.Errorf("the same index %d as piece %d", p.Index, first))
		}
		byRoot[root], indexes[p.Index] = i, i
	}
	if err := m.validateFiles(); err != nil {
		return err
	}
	m.byRoot = byRoot
	return nil
}

// pieceError names a piece by its place in the manifest, from 0, and its CID.
func pieceError(i int, p Piece, err error) error {
	return fmt.Errorf("piece %d (%.80q): %w", i, p.CID, err)
}

func (p Piece) validate(version int) (piececid.Root, error) {
	v1, err := canonicalCID("cid", p.CID, 1)
	if err != nil {
		return v1.Root, err
	}
	v2, err := canonicalCID("cid_v2", p.CIDv2, 2)
	if err != nil {
		return v1.Root, err
	}
	padded, err := piececid.PaddedSize(p.PayloadSize)
	switch {
	case err != nil:
		return v1.Root, fmt.Errorf("payload_size: %w", err)
	case p.PaddedSize != padded:
		return v1.Root, fmt.Errorf("padded_size is %d, but a payload of %d bytes needs %d", p.PaddedSize, p.PayloadSize, padded)
	case v1.Root != v2.Root:
		return v1.Root, errors.New("cid and cid_v2 are of different pieces")
	case v2.PayloadSize != p.PayloadSize:
		return v1.Root, fmt.Errorf("payload_size is %d, but cid_v2 says %d", p.PayloadSize, v2.PayloadSize)
	case p.Remote() && version < 3:
		return v1.Root, errors.New("neither flat nor sector names a file")
	case p.SectorOffset < 0 || p.SectorOffset%p.PaddedSize != 0 || p.SectorOffset > math.MaxInt64-p.PaddedSize:
		return v1.Root, fmt.Errorf("sector_offset %d is not a multiple of the padded size %d", p.SectorOffset, p.PaddedSize)
	}
	paths := []string{p.Flat, p.Sector}
	if p.ChecksumFile != nil {
		if p.ChecksumFile.Path == "" || !sha256Digits.MatchString(p.ChecksumFile.SHA256) {
			return v1.Root, fmt.Errorf("checksum_file: want a path, and the file's sha256 as 64 hex digits")
		}
		paths = append(paths, p.ChecksumFile.Path)
	}
	for _, path := range paths {
		if path != "" && !filepath.IsLocal(path) {
			return v1.Root, fmt.Errorf("path %.80q leads out of the manifest's folder", path)
		}
	}
	return v1.Root, p.validateChecksums()
}

func canonicalCID(field, text string, version int) (piececid.CID, error) {
	c, err := piececid.Parse(text)
	switch {
	case err != nil:
		return c, fmt.Errorf("%s: %w", field, err)
	case c.Version != version:
		return c, fmt.Errorf("%s: a piece CID v%d, want v%d", field, c.Version, version)
	case c.String() != text:
		return c, fmt.Errorf("%s: write it as %s", field, c)
	}
	return c, nil
}

var (
	checksum     = regexp.MustCompile(`^[0-9a-f]{16}$`)
	sha256Digits = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// validateChecksums checks those of version 1.
func (p Piece) validateChecksums() error {
	if len(p.Checksums) == 0 {
		return nil
	}
	if p.ChecksumFile != nil {
		return errors.New("both checksums and checksum_file: want one of them")
	}
	if want := (p.PayloadSize-1)/checksumBlock1 + 1; int64(len(p.Checksums)) != want {
		return fmt.Errorf("%d checksums, but %d payload bytes have %d", len(p.Checksums), p.PayloadSize, want)
	}
	for i, sum := range p.Checksums {
		if !checksum.MatchString(sum) {
			return fmt.Errorf("checksum %d is %.80q, not 16 hex digits", i, sum)
		}
	}
	return nil
}

// validateFiles checks that no two pieces share bytes of a file.
func (m *Manifest) validateFiles() error {
	type extent struct {
		file       string
		start, end int64
		piece      int
	}
	var extents []extent
	for i, p := range m.Pieces {
		if p.Flat != "" {
			extents = append(extents, extent{filepath.Clean(p.Flat), 0, math.MaxInt64, i})
		}
		if p.ChecksumFile != nil {
			extents = append(extents, extent{filepath.Clean(p.ChecksumFile.Path), 0, math.MaxInt64, i})
		}
		if p.Sector != "" {
			extents = append(extents, extent{filepath.Clean(p.Sector), p.SectorOffset, p.SectorOffset + p.PaddedSize, i})
		}
	}
	slices.SortFunc(extents, func(a, b extent) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.start, b.start), cmp.Compare(a.piece, b.piece))
	})
	for i := 1; i < len(extents); i++ {
		if a, b := extents[i-1], extents[i]; a.file == b.file && a.end > b.start {
			return pieceError(b.piece, m.Pieces[b.piece], fmt.Errorf("shares bytes of %.80q with piece %d", b.file, a.piece))
		}
	}
	return nil
}
