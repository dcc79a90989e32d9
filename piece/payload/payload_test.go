package payload_test

import (
	"bytes"
	"encoding/hex"
	"testing"

	"piecebench/piece/payload"
)

// TestKnownBytes pins the generator. The bytes come from
// openssl enc -aes-128-ctr -iv 0, with the key that the package documents.
func TestKnownBytes(t *testing.T) {
	for _, v := range []struct {
		seed, index uint64
		offset      int64
		want        string
	}{
		{1, 0, 0, "dc0ed85df9611abb7249cdd168c5467ec6764808695831c7e50efa4a27eb9f10"},
		{1, 3, 1000003, "d0129d7e0b47c6e698cf97f092b417c1"},
		{0xfedcba9876543210, 0x123456789abcdef, 7, "a3e35763cf852bf013dd3a87a853fbdb"},
		{2, 0, 68719476731, "73dc2a78594c5a2ef36b886c163f6e57"},
	} {
		want, err := hex.DecodeString(v.want)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		payload.New(v.seed, v.index).Fill(got, v.offset)
		if !bytes.Equal(got, want) {
			t.Errorf("seed %d, piece %d, offset %d: %x, want %x", v.seed, v.index, v.offset, got, want)
		}
	}
}

// TestAnyOffsetIsTheSameStream fills ranges of many lengths at many offsets,
// across AES blocks, and across the 2^32 blocks where a 32-bit counter wraps.
func TestAnyOffsetIsTheSameStream(t *testing.T) {
	s := payload.New(7, 3)
	for _, base := range []int64{0, 1<<36 - 128} {
		whole := make([]byte, 256)
		s.Fill(whole, base)
		for off := range 64 {
			for _, n := range []int{0, 1, 15, 16, 17, 100, 192} {
				part := bytes.Repeat([]byte{0xff}, n)
				s.Fill(part, base+int64(off))
				if !bytes.Equal(part, whole[off:off+n]) {
					t.Fatalf("%d bytes at %d differ", n, base+int64(off))
				}
				if i := s.Mismatch(part, base+int64(off)); i != -1 {
					t.Fatalf("%d bytes at %d: mismatch at %d", n, base+int64(off), i)
				}
			}
		}
	}
}

func TestMismatchFindsEveryWrongByte(t *testing.T) {
	const size, off = 20_000, 12_345 // more than two of the blocks that are compared at once
	s := payload.New(1, 0)
	p := make([]byte, size)
	s.Fill(p, off)
	for _, i := range []int{0, 1, 8191, 8192, 8193, 16_383, 16_384, size - 1} {
		p[i] ^= 0x10
		if got := s.Mismatch(p, off); got != i {
			t.Errorf("wrong byte %d found at %d", i, got)
		}
		p[i] ^= 0x10
	}
	p[9000], p[50] = ^p[9000], ^p[50]
	if got := s.Mismatch(p, off); got != 50 {
		t.Errorf("first wrong byte 50 found at %d", got)
	}
}

func TestCheckerGoesOnFromCallToCall(t *testing.T) {
	s := payload.New(1, 2)
	p := make([]byte, 100_000)
	s.Fill(p, 999)
	c := s.CheckerAt(999)
	for done, n := 0, 1; done < len(p); n = n*3%8000 + 1 {
		part := p[done:min(done+n, len(p))]
		if i := c.Mismatch(part); i != -1 {
			t.Fatalf("mismatch at %d", done+i)
		}
		done += len(part)
	}
}

func TestCheckerDoesNotAllocate(t *testing.T) {
	c := payload.New(1, 0).CheckerAt(0)
	p := make([]byte, 16<<10)
	if n := testing.AllocsPerRun(100, func() { c.Mismatch(p) }); n >= 1 {
		t.Errorf("%v allocations a call", n)
	}
}

func BenchmarkFill(b *testing.B) {
	s, p := payload.New(1, 0), make([]byte, 1<<20)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		s.Fill(p, 12_345)
	}
}

func BenchmarkMismatch(b *testing.B) {
	s, p := payload.New(1, 0), make([]byte, 1<<20)
	s.Fill(p, 12_345)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		if s.Mismatch(p, 12_345) != -1 {
			b.Fatal("mismatch")
		}
	}
}
