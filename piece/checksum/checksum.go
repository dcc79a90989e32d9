// Package checksum makes and reads the checksums of imported pieces, by which
// any blocks of a payload can be checked without a copy of it.
//
// The file of a piece holds the xxhash64 (seed 0) of each block of
// piece.ChecksumBlock bytes of the payload, the last one may be short, as 8
// big-endian bytes each: 512 KiB for each GiB. Damage to a block goes unseen
// with a chance of 1 in 2^64. It does not protect against forgery: anybody
// who knows the checksums can make bytes that pass.
package checksum

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"piecebench/piece"

	"github.com/cespare/xxhash/v2"
)

const size = 8 // bytes of one checksum

// Builder makes the checksums of the payload that is written to it, which may
// go to commp.Sum at the same time (io.TeeReader).
type Builder struct {
	digest xxhash.Digest
	inside int // bytes of the block so far
	sums   []byte
}

// Write adds the payload's next bytes. It never fails.
func (b *Builder) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		if b.inside == 0 {
			b.digest.Reset()
		}
		n := min(len(rest), piece.ChecksumBlock-b.inside)
		b.digest.Write(rest[:n])
		rest = rest[n:]
		if b.inside += n; b.inside == piece.ChecksumBlock {
			b.endBlock()
		}
	}
	return len(p), nil
}

func (b *Builder) endBlock() {
	b.sums = binary.BigEndian.AppendUint64(b.sums, b.digest.Sum64())
	b.inside = 0
}

// Finish ends the payload, and returns the content of its file of checksums and
// what the manifest says of it, at this path.
func (b *Builder) Finish(path string) ([]byte, *piece.ChecksumFile) {
	if b.inside > 0 {
		b.endBlock()
	}
	return b.sums, File(path, b.sums)
}

// File returns what the manifest says of a file of checksums, at this path.
func File(path string, sums []byte) *piece.ChecksumFile {
	return &piece.ChecksumFile{Path: path, SHA256: digest(sums)}
}

// Of returns the checksums of consecutive blocks.
func Of(payload []byte) (sums []byte) {
	for block := range slices.Chunk(payload, piece.ChecksumBlock) {
		sums = binary.BigEndian.AppendUint64(sums, xxhash.Sum64(block))
	}
	return sums
}

func digest(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

// Table holds the checksums of one piece. It is safe for concurrent use.
type Table struct {
	Block int64  // bytes of payload that each is of
	sums  []byte // as in the file
}

// Load returns the checksums of an imported piece of a manifest in dir. It
// refuses a file that is not the one that the manifest names, to the last byte.
func Load(dir string, p piece.Piece) (*Table, error) {
	t := &Table{Block: p.CheckedBlock()}
	if p.ChecksumFile == nil {
		for _, text := range p.Checksums {
			sum, err := strconv.ParseUint(text, 16, 64)
			if err != nil {
				return nil, fmt.Errorf("checksum of piece %s: %w", p.CID, err)
			}
			t.sums = binary.BigEndian.AppendUint64(t.sums, sum)
		}
		return t, nil
	}
	path := filepath.Join(dir, p.ChecksumFile.Path)
	var err error
	if t.sums, err = os.ReadFile(path); err != nil {
		return nil, fmt.Errorf("checksums of piece %s: %w: it belongs beside the manifest", p.CID, err)
	}
	if want := ((p.PayloadSize-1)/t.Block + 1) * size; int64(len(t.sums)) != want || digest(t.sums) != p.ChecksumFile.SHA256 {
		return nil, fmt.Errorf("checksums of piece %s: %s is damaged (its SHA-256 is not the manifest's): copy it again, or import the piece's file again", p.CID, path)
	}
	return t, nil
}

// Right reports whether bytes are block number i of the payload, given their Sum64.
func (t *Table) Right(i int64, sum uint64) bool {
	return binary.BigEndian.Uint64(t.sums[i*size:]) == sum
}
