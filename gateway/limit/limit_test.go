package limit

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestInFlightNeverAdmitsMore(t *testing.T) {
	const limit = 3
	l := NewInFlight(limit)
	var inside, refused atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range 1000 {
				if !l.Acquire() {
					refused.Add(1)
					continue
				}
				if n := inside.Add(1); n > limit {
					t.Errorf("%d admitted at a time", n)
				}
				inside.Add(-1)
				l.Release()
			}
		})
	}
	wg.Wait()
	if l.Now() != 0 {
		t.Errorf("%d in flight after all ended", l.Now())
	}
	for range limit {
		if !l.Acquire() {
			t.Fatal("refused below the limit")
		}
	}
	if l.Acquire() {
		t.Error("admitted above the limit")
	}
}

func TestDivideFiles(t *testing.T) {
	for _, c := range []struct {
		limit int64
		want  int
		files Files
	}{
		{20_000, 4096, Files{InFlight: 4096, Connections: 15_840}},
		{4096, 4096, Files{InFlight: 2016, Connections: 2016}},
		{1024, 100, Files{InFlight: 100, Connections: 860}},
		{66, 100, Files{InFlight: 1, Connections: 1}},
	} {
		files, err := divide(c.limit, c.want)
		if err != nil || files != c.files {
			t.Errorf("of %d files for %d requests: %+v, %v; want %+v", c.limit, c.want, files, err, c.files)
		}
		if sum := int64(files.InFlight + files.Connections + ownFiles); sum > c.limit {
			t.Errorf("%d files of %d", sum, c.limit)
		}
	}
	if _, err := divide(64, 1); err == nil {
		t.Error("64 files are enough for itself alone")
	}
}
