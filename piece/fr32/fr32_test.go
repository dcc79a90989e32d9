package fr32_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"piecebench/piece/fr32"
)

// padBits is an independent Pad: bit i of the payload, counted from the lowest
// bit of the first byte, becomes bit i%254 of the value i/254.
func padBits(src []byte) []byte {
	dst := make([]byte, len(src)/fr32.Payload*fr32.Padded)
	for i := range len(src) * 8 {
		bit := src[i/8] >> (i % 8) & 1
		at := i/254*256 + i%254
		dst[at/8] |= bit << (at % 8)
	}
	return dst
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

func fill(b byte, n int) []byte { return bytes.Repeat([]byte{b}, n) }

func TestPublishedVectors(t *testing.T) {
	ones := append(fill(0xff, 31), 0x3f)
	for _, v := range []struct {
		name            string
		payload, padded []byte
	}{
		{"127 x ff", fill(0xff, 127), bytes.Repeat(ones, 4)},
		{"127 x 01", fill(0x01, 127), bytes.Join([][]byte{
			fill(0x01, 32), fill(0x04, 32), fill(0x10, 32), fill(0x40, 31), {0},
		}, nil)},
	} {
		t.Run(v.name, func(t *testing.T) {
			got := make([]byte, 128)
			fr32.Pad(got, v.payload)
			if !bytes.Equal(got, v.padded) {
				t.Errorf("padded\n%x, want\n%x", got, v.padded)
			}
			fr32.Unpad(got[:127], v.padded)
			if !bytes.Equal(got[:127], v.payload) {
				t.Errorf("unpadded\n%x, want\n%x", got[:127], v.payload)
			}
		})
	}
}

// guard surrounds buffers, to see writes outside of them.
const guard = 64

func guarded(n int) (whole, inner []byte) {
	whole = fill(0xa5, n+2*guard)
	return whole, whole[guard : guard+n : guard+n]
}

func checkGuard(t *testing.T, what string, whole []byte) {
	t.Helper()
	edge := fill(0xa5, guard)
	if !bytes.Equal(whole[:guard], edge) || !bytes.Equal(whole[len(whole)-guard:], edge) {
		t.Errorf("%s wrote outside of its destination", what)
	}
}

func checkBoth(t *testing.T, payload []byte) {
	t.Helper()
	want := padBits(payload)
	whole, padded := guarded(len(want))
	fr32.Pad(padded, payload)
	checkGuard(t, "Pad", whole)
	if !bytes.Equal(padded, want) {
		t.Fatalf("Pad of %d bytes differs from the reference", len(payload))
	}
	for i := 31; i < len(padded); i += 32 {
		padded[i] |= 0xc0 // bits that Unpad must ignore
	}
	for name, unpad := range map[string]func(dst, src []byte){"Unpad": fr32.Unpad, "unpadWords": fr32.UnpadWords} {
		whole, back := guarded(len(payload))
		unpad(back, padded)
		checkGuard(t, name, whole)
		if !bytes.Equal(back, payload) {
			t.Fatalf("%s does not undo Pad of %d bytes", name, len(payload))
		}
	}
}

// TestAgainstReference covers every number of groups up to 40, all ends of an
// unrolled or wide loop, and, with the blocks of the widest one, the numbers
// around one and two of them, at every alignment of a cache line.
func TestAgainstReference(t *testing.T) {
	data := random(41*fr32.Payload + 64)
	for groups := range 41 {
		checkBoth(t, data[:groups*fr32.Payload])
	}
	for shift := range 64 {
		checkBoth(t, data[shift:shift+5*fr32.Payload])
	}
	for _, groups := range []int{63, 64, 65, 127, 128, 129, 191, 192, 8192, 8300} {
		checkBoth(t, random(groups*fr32.Payload))
	}
}

// TestUnpadAnywhere unpads to every alignment of a cache line, below and above
// the size from which on the cache is passed by.
func TestUnpadAnywhere(t *testing.T) {
	for _, groups := range []int{130, 300, 1<<20/fr32.Padded + 130} {
		payload := random(groups * fr32.Payload)
		padded := make([]byte, groups*fr32.Padded)
		fr32.Pad(padded, payload)
		for shift := range 64 {
			whole, inner := guarded(len(payload) + shift)
			fr32.Unpad(inner[shift:], padded)
			checkGuard(t, "Unpad", whole)
			if !bytes.Equal(inner[:shift], fill(0xa5, shift)) {
				t.Errorf("Unpad to byte %d of a line wrote before its destination", shift)
			}
			if !bytes.Equal(inner[shift:], payload) {
				t.Errorf("Unpad of %d groups to byte %d of a line differs", groups, shift)
			}
		}
	}
}

func FuzzPadUnpad(f *testing.F) {
	f.Add(random(127))
	f.Add(random(3 * 127))
	f.Fuzz(func(t *testing.T, data []byte) {
		checkBoth(t, data[:len(data)/fr32.Payload*fr32.Payload])
	})
}

// TestOddLongRange reads the length that made another unpadder, cut at
// misaligned points, return wrong bytes (lotus #13455), at odd offsets.
func TestOddLongRange(t *testing.T) {
	const length = 8_389_747
	payload := random(70_000 * fr32.Payload)
	padded := make([]byte, 70_000*fr32.Padded)
	fr32.Pad(padded, payload)
	for _, offset := range []int64{0, 1, 126, 127, 128, 4095, 65_537, 99_991} {
		s := fr32.SpanOf(offset, length)
		got := make([]byte, s.Length/fr32.Padded*fr32.Payload)
		fr32.Unpad(got, padded[s.Offset:s.Offset+s.Length])
		if !bytes.Equal(got[s.Skip:s.Skip+length], payload[offset:offset+length]) {
			t.Errorf("range at %d differs", offset)
		}
	}
}

func TestSpanOf(t *testing.T) {
	for _, v := range []struct {
		offset, length int64
		want           fr32.Span
	}{
		{0, 0, fr32.Span{0, 0, 0}},
		{130, 0, fr32.Span{128, 0, 3}},
		{0, 1, fr32.Span{0, 128, 0}},
		{0, 127, fr32.Span{0, 128, 0}},
		{0, 128, fr32.Span{0, 256, 0}},
		{126, 1, fr32.Span{0, 128, 126}},
		{126, 2, fr32.Span{0, 256, 126}},
		{127, 127, fr32.Span{128, 128, 0}},
		{34_091_302_911, 1, fr32.Span{34_359_738_240, 128, 126}},
	} {
		if got := fr32.SpanOf(v.offset, v.length); got != v.want {
			t.Errorf("SpanOf(%d, %d) = %+v, want %+v", v.offset, v.length, got, v.want)
		}
	}
}

func TestPanicsOnPartialGroupsAndShortDestination(t *testing.T) {
	for name, f := range map[string]func(){
		"Pad, 126 bytes":           func() { fr32.Pad(make([]byte, 128), make([]byte, 126)) },
		"Unpad, 127 bytes":         func() { fr32.Unpad(make([]byte, 127), make([]byte, 127)) },
		"Pad, short destination":   func() { fr32.Pad(make([]byte, 255), make([]byte, 254)) },
		"Unpad, short destination": func() { fr32.Unpad(make([]byte, 253), make([]byte, 256)) },
		"Unpad, no destination":    func() { fr32.Unpad(nil, make([]byte, 128)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// BenchmarkUnpad stands beside BenchmarkCopy of the same padded size: that is
// what a server would do without fr32.
func BenchmarkUnpad(b *testing.B) {
	bench(b, func(payload, padded []byte) { fr32.Unpad(payload, padded) })
}

func BenchmarkPad(b *testing.B) {
	bench(b, func(payload, padded []byte) { fr32.Pad(padded, payload) })
}

func BenchmarkCopy(b *testing.B) {
	bench(b, func(payload, padded []byte) { copy(payload[:cap(payload)], padded) })
}

func bench(b *testing.B, f func(payload, padded []byte)) {
	for _, kib := range []int{256, 16 << 10} {
		b.Run(fmt.Sprint(kib, "KiB"), func(b *testing.B) {
			padded := random(kib << 10)
			payload := make([]byte, len(padded)/fr32.Padded*fr32.Payload, len(padded))
			b.SetBytes(int64(len(padded)))
			for b.Loop() {
				f(payload, padded)
			}
		})
	}
}
