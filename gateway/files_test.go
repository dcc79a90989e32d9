package gateway

import "testing"

func TestDivideFiles(t *testing.T) {
	for _, c := range []struct {
		limit int64
		want  int
		files files
	}{
		{20_000, 4096, files{inFlight: 4096, connections: 15_840}},
		{4096, 4096, files{inFlight: 2016, connections: 2016}},
		{1024, 100, files{inFlight: 100, connections: 860}},
		{66, 100, files{inFlight: 1, connections: 1}},
	} {
		got, err := divide(c.limit, c.want)
		if err != nil || got != c.files {
			t.Errorf("of %d files for %d requests: %+v, %v; want %+v", c.limit, c.want, got, err, c.files)
		}
		if sum := int64(got.inFlight + got.connections + ownFiles); sum > c.limit {
			t.Errorf("%d files of %d", sum, c.limit)
		}
	}
	if _, err := divide(64, 1); err == nil {
		t.Error("64 files are enough for itself alone")
	}
}
