package byterange

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	const size = 1000
	for _, c := range []struct {
		header string
		want   []Range
		err    error
	}{
		{header: "bytes=0-0", want: []Range{{0, 1}}},
		{header: "bytes=10-", want: []Range{{10, 990}}},
		{header: "bytes=-10", want: []Range{{990, 10}}},
		{header: "bytes=-5000", want: []Range{{0, 1000}}},
		{header: "bytes=990-2000", want: []Range{{990, 10}}},
		{header: "bytes=5-6, 1-2,-1", want: []Range{{5, 2}, {1, 2}, {999, 1}}},
		{header: "bytes=0-0,1000-", want: []Range{{0, 1}}}, // those past the end are left out
		{header: "items=0-0"},
		{header: "bytes=0-999,0-0"}, // more than there is
		{header: "bytes=1000-", err: ErrUnsatisfiable},
		{header: "bytes=-0", err: ErrUnsatisfiable},
		{header: "bytes=5-2", err: ErrUnsatisfiable},
		{header: "bytes=0-999,x", err: ErrUnsatisfiable},
		{header: "bytes=9223372036854775808-", err: ErrUnsatisfiable},
	} {
		got, err := Parse(c.header, size)
		if !errors.Is(err, c.err) || !cmp.Equal(got, c.want) {
			t.Errorf("%q: %v, %v; want %v, %v", c.header, got, err, c.want, c.err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("bytes=0-0,5-,-7", int64(1000))
	f.Add("bytes=0-9223372036854775807", int64(1)<<62)
	f.Fuzz(func(t *testing.T, header string, size int64) {
		if size < 1 {
			t.Skip()
		}
		ranges, err := Parse(header, size)
		if err != nil && ranges != nil {
			t.Error("ranges beside an error")
		}
		var sum int64
		for _, r := range ranges {
			if r.Offset < 0 || r.Length < 1 || r.Length > size-r.Offset {
				t.Errorf("%v is not inside of %d bytes", r, size)
			}
			sum += r.Length
		}
		if sum < 0 || sum > size {
			t.Errorf("ranges of %d bytes of %d", sum, size)
		}
	})
}
