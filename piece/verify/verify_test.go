package verify_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"piecebench/piece"
	"piecebench/piece/checksum"
	"piecebench/piece/payload"
	"piecebench/piece/verify"

	"github.com/cespare/xxhash/v2"
)

// generated returns a generated piece of 8 MiB whose payload ends short of
// its unpadded size, and its unpadded bytes.
func generated() (*piece.Manifest, piece.Piece, []byte) {
	p := piece.Piece{Index: 5, CID: "generated", Flat: "flat/generated", PayloadSize: 5_000_000, PaddedSize: 8 << 20}
	data := make([]byte, p.UnpaddedSize())
	payload.New(3, 5).Fill(data[:p.PayloadSize], 0)
	return &piece.Manifest{Seed: 3, Pieces: []piece.Piece{p}}, p, data
}

// importedV1 returns the same with other bytes, and the checksums of version 1.
func importedV1() (*piece.Manifest, piece.Piece, []byte) {
	m, p, data := generated()
	rand.NewChaCha8([32]byte{7}).Read(data[:p.PayloadSize])
	for at := int64(0); at < p.PayloadSize; at += mib {
		block := data[at:min(at+mib, p.PayloadSize)]
		p.Checksums = append(p.Checksums, fmt.Sprintf("%016x", xxhash.Sum64(block)))
	}
	p.CID, m.Pieces[0] = "imported by version 1", p
	return m, p, data
}

// imported returns the same with a file of checksums, which is in dir.
func imported() (*piece.Manifest, piece.Piece, []byte) {
	m, p, data := importedV1()
	var b checksum.Builder
	for rest := data[:p.PayloadSize]; len(rest) > 0; { // in no parts of any block's size
		n := min(len(rest), 100_003)
		b.Write(rest[:n])
		rest = rest[n:]
	}
	p.CID, p.Checksums = "imported", nil
	var file []byte
	file, p.ChecksumFile = b.Finish(p.CID)
	if err := os.WriteFile(filepath.Join(dir, p.CID), file, 0o644); err != nil {
		panic(err)
	}
	m.Pieces[0] = p
	return m, p, data
}

// dir is the manifests' folder.
var dir string

func TestMain(m *testing.M) {
	var err error
	if dir, err = os.MkdirTemp("", "verify-test-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// check returns a checker of a range.
func check(tb testing.TB, m *piece.Manifest, p piece.Piece, offset, length int64) *verify.Checker {
	tb.Helper()
	ref, err := verify.Open(dir, m, p)
	if err != nil {
		tb.Fatal(err)
	}
	return ref.Range(offset, length)
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

const (
	mib   = 1 << 20
	block = piece.ChecksumBlock
)

var kinds = []func() (*piece.Manifest, piece.Piece, []byte){generated, importedV1, imported}

func TestRightBytesPass(t *testing.T) {
	for _, v := range []struct {
		offset, length int64
		// What can be checked: of a generated piece all, of an imported one
		// whole blocks (of 1 MiB, version 1), and zeros after the payload.
		version1, version2 int64
	}{
		{0, 8_323_072, 8_323_072, 8_323_072},              // the whole unpadded piece
		{0, 5_000_000, 5_000_000, 5_000_000},              // the payload
		{0, mib, mib, mib},                                // one block of version 1
		{5 * block, 3 * block, 0, 3 * block},              // three of version 2
		{0, mib - 1, 0, mib - block},                      // not quite a block
		{1, mib, 0, mib - block},                          // across the first
		{1, 2*mib - 1, mib, 2*mib - block},                // a whole one at the end
		{mib, 2*mib + 5, 2 * mib, 2 * mib},                // two and a bit
		{block + 777, block, 0, 0},                        // bits of two
		{4 * mib, 5_000_000 - 4*mib, 805_696, 805_696},    // the short last block
		{4 * mib, 5_000_000 - 4*mib - 1, 0, 802_816},      // less its last byte
		{4_997_120, 2 * block, 2*block - 2880, 2 * block}, // the short last block of version 2 and zeros
		{4_999_999, 3, 2, 2},                              // one byte of payload and two zeros
		{5_000_000, 100_000, 100_000, 100_000},            // zeros
		{8_323_071, 1, 1, 1},
		{123, 0, 0, 0},
	} {
		for _, make := range kinds {
			m, p, data := make()
			want := v.length
			switch p.CheckedBlock() {
			case mib:
				want = v.version1
			case block:
				want = v.version2
			}
			for _, step := range []int{997, 64 << 10, 10 << 20} {
				c := check(t, m, p, v.offset, v.length)
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
			err := write(check(t, m, p, 1000, 6_000_000), bad[1000:6_001_000], step)
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
		{0, 0, block}, {block - 1, 0, block}, {2*block + 1, 2 * block, block}, {4_999_999, 4_997_120, 2880},
	} {
		bad := bytes.Clone(data)
		bad[v.at] ^= 1
		err := write(check(t, m, p, 0, p.UnpaddedSize()), bad, 10_000)
		var fault *verify.Error
		if !errors.As(err, &fault) || *fault != (verify.Error{Piece: "imported", Offset: v.block, Block: v.size}) {
			t.Errorf("byte %d: %v", v.at, err)
		}
	}
	bad := bytes.Clone(data)
	bad[5_000_003] = 9
	err := write(check(t, m, p, 0, p.UnpaddedSize()), bad, 10_000)
	var fault *verify.Error
	if !errors.As(err, &fault) || *fault != (verify.Error{Piece: "imported", Offset: 5_000_003, Got: 9}) {
		t.Errorf("wrong zero after an imported payload: %v", err)
	}
}

func TestShiftedBytesFail(t *testing.T) {
	m, p, data := generated()
	if err := write(check(t, m, p, 100, 1000), data[101:1101], 1000); err == nil {
		t.Error("bytes of one offset later pass")
	}
	other := p
	other.Index++
	if err := write(check(t, m, other, 100, 1000), data[100:1100], 1000); err == nil {
		t.Error("bytes of another piece pass")
	}
}

func TestMoreThanTheRangeFailsAndFailureStays(t *testing.T) {
	m, p, data := generated()
	c := check(t, m, p, 0, 1000)
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

// Of a range that starts and ends on blocks, one wrong bit is found wherever it
// is, and however the bytes arrive.
func TestAWrongBitAnywhereIsFound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, make := range kinds {
		m, p, data := make()
		unit := max(p.CheckedBlock(), 4096)
		for _, r := range []struct{ offset, length int64 }{
			{0, unit}, {2 * unit, 2 * unit}, {p.PayloadSize / unit * unit, unit}, {p.PayloadSize/unit*unit + unit, unit}, {0, p.UnpaddedSize()},
		} {
			part := data[r.offset : r.offset+r.length]
			positions := []int64{0, 1, unit - 1, r.length/2 - 1, r.length / 2, r.length - 2, r.length - 1}
			for range 20 {
				positions = append(positions, random.Int64N(r.length))
			}
			for _, at := range positions {
				bit := byte(1) << random.IntN(8)
				part[at] ^= bit
				c := check(t, m, p, r.offset, r.length)
				if err := write(c, part, 1+random.IntN(300_000)); err == nil || c.Checked() > at {
					t.Errorf("%s, %d bytes at %d: byte %d is wrong, %d pass, %v", p.CID, r.length, r.offset, at, c.Checked(), err)
				}
				part[at] ^= bit
			}
			if c := check(t, m, p, r.offset, r.length); write(c, part, 100_000) != nil || c.Checked() != r.length {
				t.Errorf("%s, %d bytes at %d: %d pass of the right ones", p.CID, r.length, r.offset, c.Checked())
			}
		}
	}
}

// Damaged checksums would make every server's bytes wrong.
func TestAFileOfChecksumsThatIsNotTheManifestsIsRefused(t *testing.T) {
	m, p, _ := imported()
	path := filepath.Join(dir, p.ChecksumFile.Path)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := bytes.Clone(whole)
	bad[100] ^= 1
	for name, file := range map[string][]byte{"one bit": bad, "cut": whole[:len(whole)-8], "none": nil} {
		if os.Remove(path); file != nil {
			if err := os.WriteFile(path, file, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, err := verify.Open(dir, m, p)
		if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with the file's name", name, err)
		}
	}
}
