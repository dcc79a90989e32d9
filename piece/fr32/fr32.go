// Package fr32 converts between payload bytes and the fr32 form in which
// Filecoin sectors hold them.
//
// 127 payload bytes, read as a little-endian number of 1016 bits, are cut into
// four values of 254 bits; each is written as 32 little-endian bytes whose top
// two bits are zero. So every 127-byte group of the payload is a 128-byte group
// of the sector, and payload offset o lies in the group at o/127*128.
package fr32

import (
	"encoding/binary"
	"fmt"
)

// Sizes of one group, in bytes.
const (
	Payload = 127
	Padded  = 128
)

// Pad writes the fr32 form of src to dst. src must be whole groups of 127
// bytes, and dst must have room for 128 bytes for each of them; Pad panics
// otherwise. dst and src must not overlap.
func Pad(dst, src []byte) {
	groups := check("Pad", len(dst), Padded, len(src), Payload)
	padGroups(dst[:groups*Padded], src)
}

// Unpad writes the payload of the padded groups in src to dst. src must be
// whole groups of 128 bytes, and dst must have room for 127 bytes for each of
// them; Unpad panics otherwise. The two bits that padding adds to each 32
// bytes are ignored. dst and src must not overlap.
func Unpad(dst, src []byte) {
	groups := check("Unpad", len(dst), Payload, len(src), Padded)
	unpadGroups(dst[:groups*Payload], src)
}

func check(verb string, dst, dstGroup, src, srcGroup int) (groups int) {
	if src%srcGroup != 0 {
		panic(fmt.Sprintf("fr32.%s: source of %d bytes is not whole groups of %d", verb, src, srcGroup))
	}
	if groups = src / srcGroup; dst < groups*dstGroup {
		panic(fmt.Sprintf("fr32.%s: destination of %d bytes, need %d", verb, dst, groups*dstGroup))
	}
	return groups
}

// Span says where a payload range lies in the padded form.
type Span struct {
	Offset int64 // of the first padded group, a multiple of 128
	Length int64 // of all groups that the range touches, a multiple of 128
	Skip   int   // payload bytes of the first group that come before the range, 0 to 126
}

// SpanOf returns the padded groups that hold length payload bytes from offset
// on. Both must not be negative; an empty range has an empty span.
func SpanOf(offset, length int64) Span {
	first := offset / Payload
	s := Span{Offset: first * Padded, Skip: int(offset % Payload)}
	if length > 0 {
		last := (offset + length - 1) / Payload
		s.Length = (last - first + 1) * Padded
	}
	return s
}

var le = binary.LittleEndian
