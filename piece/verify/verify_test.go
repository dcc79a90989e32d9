package verify_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"piecebench/piece"
	"piecebench/piece/payload"
	"piecebench/piece/verify"

	"github.com/cespare/xxhash/v2"
)

// generated returns a generated piece of 8 MiB whose payload ends short of
// its unpadded size, and its unpadded bytes.
func generated() (*piece.Manifest, piece.Piece, []byte) {
	p := piece.Piece{Index: 5, CID: "generated", PayloadSize: 5_000_000, PaddedSize: 8 << 20}
	data := make([]byte, p.UnpaddedSize())
	payload.New(3, 5).Fill(data[:p.PayloadSize], 0)
	return &piece.Manifest{Seed: 3, Pieces: []piece.Piece{p}}, p, data
}

// imported returns the same with other bytes, and checksums.
func imported() (*piece.Manifest, piece.Piece, []byte) {
	m, p, data := generated()
	rand.NewChaCha8([32]byte{7}).Read(data[:p.PayloadSize])
	for at := int64(0); at < p.PayloadSize; at += piece.ChecksumBlock {
		block := data[at:min(at+piece.ChecksumBlock, p.PayloadSize)]
		p.Checksums = append(p.Checksums, fmt.Sprintf("%016x", xxhash.Sum64(block)))
	}
	p.CID, m.Pieces[0] = "imported", p
	return m, p, data
}

// write gives a range to a checker in pieces of this size.
func write(c *verify.Checker, b []byte, step int) error {
	for len(b) > 0 {
		n := min(step, len(b))
		if _, err := c.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

const mib = 1 << 20

func TestRightBytesPass(t *testing.T) {
	for _, v := range []struct {
		offset, length int64
		// What can be checked: of a generated piece all, of an imported one
		// whole blocks, and zeros after the payload.
		imported int64
	}{
		{0, 8_323_072, 8_323_072},                       // the whole unpadded piece
		{0, 5_000_000, 5_000_000},                       // the payload
		{0, mib, mib},                                   // one block
		{0, mib - 1, 0},                                 // not quite one
		{1, mib, 0},                                     // across two
		{1, 2*mib - 1, mib},                             // a whole one at the end
		{mib, 2*mib + 5, 2 * mib},                       // two and a bit
		{777, 4_000_000, 2 * mib},                       // bits at both ends
		{4 * mib, 5_000_000 - 4*mib, 5_000_000 - 4*mib}, // the short last block
		{4 * mib, 5_000_000 - 4*mib - 1, 0},             // less its last byte
		{4_999_999, 3, 2},                               // one byte of payload and two zeros
		{5_000_000, 100_000, 100_000},                   // zeros
		{8_323_071, 1, 1},
		{123, 0, 0},
	} {
		for _, make := range []func() (*piece.Manifest, piece.Piece, []byte){generated, imported} {
			m, p, data := make()
			want := v.length
			if p.CID == "imported" {
				want = v.imported
			}
			for _, step := range []int{997, 64 << 10, 10 << 20} {
				c := verify.NewChecker(m, p, v.offset, v.length)
				if err := write(c, data[v.offset:v.offset+v.length], step); err != nil {
					t.Errorf("%s, %d bytes at %d by %d: %v", p.CID, v.length, v.offset, step, err)
				}
				if c.Checked() != want {
					t.Errorf("%s, %d bytes at %d by %d: %d checked, want %d", p.CID, v.length, v.offset, step, c.Checked(), want)
				}
			}
		}
	}
}

func TestWrongByteIsNamed(t *testing.T) {
	m, p, data := generated()
	for _, at := range []int64{1000, 1001, 65_535, 4_999_999, 5_000_000, 6_000_000} {
		for _, step := range []int{997, 64 << 10, 10 << 20} {
			bad := bytes.Clone(data)
			bad[at] ^= 0x81
			err := write(verify.NewChecker(m, p, 1000, 6_000_000), bad[1000:6_001_000], step)
			var fault *verify.Error
			if !errors.As(err, &fault) || *fault != (verify.Error{Piece: "generated", Offset: at, Got: bad[at], Want: data[at]}) {
				t.Errorf("byte %d by %d: %v", at, step, err)
			}
		}
	}
}

func TestWrongBlockIsNamed(t *testing.T) {
	m, p, data := imported()
	for _, v := range []struct{ at, block, size int64 }{
		{0, 0, mib}, {mib - 1, 0, mib}, {2*mib + 1, 2 * mib, mib}, {4_999_999, 4 * mib, 5_000_000 - 4*mib},
	} {
		bad := bytes.Clone(data)
		bad[v.at] ^= 1
		err := write(verify.NewChecker(m, p, 0, p.UnpaddedSize()), bad, 10_000)
		var fault *verify.Error
		if !errors.As(err, &fault) || *fault != (verify.Error{Piece: "imported", Offset: v.block, Block: v.size}) {
			t.Errorf("byte %d: %v", v.at, err)
		}
	}
	bad := bytes.Clone(data)
	bad[5_000_003] = 9
	err := write(verify.NewChecker(m, p, 0, p.UnpaddedSize()), bad, 10_000)
	var fault *verify.Error
	if !errors.As(err, &fault) || *fault != (verify.Error{Piece: "imported", Offset: 5_000_003, Got: 9}) {
		t.Errorf("wrong zero after an imported payload: %v", err)
	}
}

func TestShiftedBytesFail(t *testing.T) {
	m, p, data := generated()
	if err := write(verify.NewChecker(m, p, 100, 1000), data[101:1101], 1000); err == nil {
		t.Error("bytes of one offset later pass")
	}
	other := p
	other.Index++
	if err := write(verify.NewChecker(m, other, 100, 1000), data[100:1100], 1000); err == nil {
		t.Error("bytes of another piece pass")
	}
}

func TestMoreThanTheRangeFailsAndFailureStays(t *testing.T) {
	m, p, data := generated()
	c := verify.NewChecker(m, p, 0, 1000)
	if err := write(c, data[:1000], 1000); err != nil {
		t.Fatal(err)
	}
	first := write(c, data[1000:1001], 1)
	if first == nil {
		t.Fatal("a byte after the range passes")
	}
	if _, again := c.Write(nil); again != first {
		t.Errorf("then %v, want the same error again", again)
	}
}
