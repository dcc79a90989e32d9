package draw

import (
	"slices"
	"testing"
)

// of returns objects of these sizes, of which ranges may start anywhere.
func of(sizes ...int64) (objects []Object) {
	for _, size := range sizes {
		objects = append(objects, Object{size, 1})
	}
	return objects
}

func take(s *Sequence, n int) []Range {
	out := make([]Range, n)
	for i := range out {
		out[i] = s.Next()
	}
	return out
}

func TestSameSeedAndClientSameSequence(t *testing.T) {
	objects := of(1000, 2000, 3000)
	a, b := New(7, 3, objects, 100), New(7, 3, objects, 100)
	for range 50 {
		b.Check(0.5) // which requests are checked must not matter
	}
	want := take(a, 100)
	if !slices.Equal(want, take(b, 100)) {
		t.Error("two sequences of the same client differ")
	}
	if slices.Equal(want, take(New(7, 4, objects, 100), 100)) || slices.Equal(want, take(New(8, 3, objects, 100), 100)) {
		t.Error("another client, or another seed, has the same sequence")
	}
}

// The first draws of seed 1, client 1 are pinned: runs of different versions
// must remain comparable.
func TestSequenceIsPinned(t *testing.T) {
	got := take(New(1, 1, of(1<<30, 1<<30, 1<<30, 1<<30), 1<<20), 3)
	want := []Range{{0, 109945798, 1 << 20}, {0, 979368588, 1 << 20}, {1, 1001958786, 1 << 20}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestRangesCoverEachObjectAndNoMore(t *testing.T) {
	sizes := []int64{10, 13}
	s := New(1, 1, of(sizes...), 10)
	seen := make(map[Range]int)
	for range 4000 {
		r := s.Next()
		if r.Length != 10 || r.Offset < 0 || r.Offset+r.Length > sizes[r.Piece] {
			t.Fatalf("%+v is not inside an object of %d bytes", r, sizes[r.Piece])
		}
		seen[r]++
	}
	if len(seen) != 5 { // offset 0 of the first, 0 to 3 of the second
		t.Fatalf("%d different ranges, want 5: %v", len(seen), seen)
	}
	for r, n := range seen {
		want := 2000
		if r.Piece == 1 {
			want = 500
		}
		if n < want*8/10 || n > want*12/10 {
			t.Errorf("%+v drawn %d times of 4000, want about %d", r, n, want)
		}
	}
}

func TestAlignedRangesCoverEachBlockUpToTheEnd(t *testing.T) {
	s := New(1, 1, []Object{{Size: 100, Align: 16}}, 32)
	seen := make(map[int64]bool)
	for range 1000 {
		seen[s.Next().Offset] = true
	}
	for _, offset := range []int64{0, 16, 32, 48, 64} {
		if !seen[offset] {
			t.Errorf("no range at %d", offset)
		}
	}
	if len(seen) != 5 {
		t.Errorf("ranges at %v", seen)
	}
}

func TestFullAsksForWholeObjects(t *testing.T) {
	for range 10 {
		s := New(1, 1, of(10, 13), Full)
		if r := s.Next(); r.Offset != 0 || r.Length != []int64{10, 13}[r.Piece] {
			t.Errorf("%+v", r)
		}
	}
}

func TestShareOfChecks(t *testing.T) {
	s := New(1, 1, of(10), Full)
	for share, want := range map[float64]int{0: 0, 1: 10000} {
		n := 0
		for range 10000 {
			if s.Check(share) {
				n++
			}
		}
		if n != want {
			t.Errorf("share %v: %d of 10000 checked", share, n)
		}
	}
	n := 0
	for range 10000 {
		if s.Check(0.05) {
			n++
		}
	}
	if n < 400 || n > 600 {
		t.Errorf("share 0.05: %d of 10000 checked", n)
	}
}
