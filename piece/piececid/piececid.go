// Package piececid reads and writes piece CIDs, version 1 and version 2.
//
//   - v1: CIDv1, codec fil-commitment-unsealed (0xf101), multihash
//     sha2-256-trunc254-padded (0x1012), whose digest is the 32-byte root.
//     Text starts with baga6ea4seaq. It says nothing of sizes.
//   - v2 (FRC-0069): CIDv1, codec raw (0x55), multihash
//     fr32-sha2-256-trunc254-padded-binary-tree (0x1011), whose digest is
//     uvarint(padding) | height | root. The padded size is 32 << height, and
//     the payload size is 127/128 of that, less padding. Text starts with
//     bafkzcib.
package piececid

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"
	"github.com/multiformats/go-varint"
)

// MinPayload is the smallest payload, in bytes, that has a piece commitment:
// with less, more than half of the smallest piece (127 bytes) would be padding.
const MinPayload = 65

// Multihash codes, from the multicodec table.
const (
	hashV1 = 0x1012
	hashV2 = 0x1011
)

const (
	rootSize = 32
	// maxText bounds the text that Parse looks at: base2, the longest form of
	// a piece CID, has some 380 characters, and decoding base58 is quadratic.
	maxText = 512
	// A tree of height 2 is the smallest piece, 128 bytes; one of height 57
	// the largest whose sizes fit into an int64.
	minHeight, maxHeight = 2, 57
)

// Root is a piece commitment: the root of the sha2-256 tree over the padded
// piece, two bits of it cleared.
type Root = [rootSize]byte

// CID is a piece CID. The zero value is none.
type CID struct {
	Version int // 1 or 2
	Root    Root
	// PayloadSize and PaddedSize are in bytes, as in piece.Piece. Both are 0
	// in version 1, which does not tell them.
	PayloadSize int64
	PaddedSize  int64
}

// V1 returns the piece CID v1 of a root.
func V1(root Root) CID { return CID{Version: 1, Root: root} }

// V2 returns the piece CID v2 of a root and the payload it commits to. The
// payload size must be at least MinPayload.
func V2(root Root, payloadSize int64) (CID, error) {
	padded, err := PaddedSize(payloadSize)
	if err != nil {
		return CID{}, err
	}
	return CID{Version: 2, Root: root, PayloadSize: payloadSize, PaddedSize: padded}, nil
}

// PaddedSize returns the size of the smallest piece that holds a payload of
// this many bytes: a power of two of at least 128.
func PaddedSize(payloadSize int64) (int64, error) {
	if payloadSize < MinPayload {
		return 0, fmt.Errorf("a payload of %d bytes has no piece CID: the least is %d", payloadSize, MinPayload)
	}
	groups := uint64(payloadSize-1)/127 + 1
	height := bits.Len64(groups-1) + minHeight
	if height > maxHeight {
		return 0, fmt.Errorf("a payload of %d bytes has no piece CID: too large", payloadSize)
	}
	return 32 << height, nil
}

// V1 returns the version 1 form of c.
func (c CID) V1() CID { return V1(c.Root) }

// String returns the canonical text: lower-case base32.
func (c CID) String() string {
	if c.Version == 1 {
		return encode(cid.FilCommitmentUnsealed, hashV1, c.Root[:])
	}
	digest := varint.ToUvarint(uint64(c.PaddedSize/128*127 - c.PayloadSize))
	digest = append(digest, byte(bits.TrailingZeros64(uint64(c.PaddedSize))-5))
	return encode(cid.Raw, hashV2, append(digest, c.Root[:]...))
}

func encode(codec, hash uint64, digest []byte) string {
	mh, err := multihash.Encode(digest, hash)
	if err != nil {
		panic(err) // only for a negative length
	}
	return cid.NewCidV1(codec, mh).String()
}

// Parse reads a piece CID of either version, in any multibase encoding. Its
// errors are one line, and name the text.
func Parse(text string) (CID, error) {
	c, err := parse(text)
	if err != nil {
		return CID{}, fmt.Errorf("%.80q is not a piece CID: %w", text, err)
	}
	return c, nil
}

func parse(text string) (CID, error) {
	if len(text) > maxText {
		return CID{}, fmt.Errorf("%d characters are too many", len(text))
	}
	c, err := cid.Decode(text)
	if err != nil {
		return CID{}, err
	}
	mh, err := multihash.Decode(c.Hash())
	if err != nil {
		return CID{}, err
	}
	switch {
	case c.Version() == 1 && c.Type() == cid.FilCommitmentUnsealed && mh.Code == hashV1:
		return digestV1(mh.Digest)
	case c.Version() == 1 && c.Type() == cid.Raw && mh.Code == hashV2:
		return digestV2(mh.Digest)
	}
	return CID{}, fmt.Errorf("it is a CIDv%d of codec 0x%x and multihash 0x%x", c.Version(), c.Type(), mh.Code)
}

func digestV1(digest []byte) (CID, error) {
	if len(digest) != rootSize {
		return CID{}, fmt.Errorf("digest of %d bytes, not %d", len(digest), rootSize)
	}
	return V1(Root(digest)), nil
}

func digestV2(digest []byte) (CID, error) {
	padding, n, err := varint.FromUvarint(digest)
	if err != nil {
		return CID{}, fmt.Errorf("padding: %w", err)
	}
	if want := n + 1 + rootSize; len(digest) != want {
		return CID{}, fmt.Errorf("digest of %d bytes, not %d", len(digest), want)
	}
	height := digest[n]
	if height < minHeight || height > maxHeight {
		return CID{}, fmt.Errorf("tree height %d is not between %d and %d", height, minHeight, maxHeight)
	}
	padded := int64(32) << height
	unpadded := padded / 128 * 127
	if padding >= uint64(unpadded/2) {
		return CID{}, errors.New("padding is half of the piece or more")
	}
	return CID{
		Version:     2,
		Root:        Root(digest[n+1:]),
		PayloadSize: unpadded - int64(padding),
		PaddedSize:  padded,
	}, nil
}
