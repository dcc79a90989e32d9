package link

import (
	"testing"
	"time"
)

// Measured with curl and nginx through the emulated links.
func TestSlowStartIsTheTimeOfAFirstRequest(t *testing.T) {
	for _, c := range []struct {
		link     string
		bytes    int64
		measured time.Duration
	}{
		{"1gbit/40ms", 10_000, 81 * time.Millisecond},
		{"1gbit/40ms", 1 << 20, 322 * time.Millisecond},
		{"1gbit/40ms", 10 << 20, 468 * time.Millisecond},
		{"10gbit/40ms", 1 << 20, 322 * time.Millisecond},
		{"10gbit/40ms", 10 << 20, 446 * time.Millisecond},
		{"200mbit/20ms", 1 << 20, 170 * time.Millisecond},
		{"200mbit/20ms", 10 << 20, 561 * time.Millisecond},
	} {
		spec, err := Parse(c.link)
		if err != nil {
			t.Fatal(err)
		}
		got := spec.SlowStart(c.bytes, spec.Delay)
		t.Logf("%s, %d bytes: %v; measured %v", c.link, c.bytes, got, c.measured)
		if ratio := float64(got) / float64(c.measured); ratio < 0.97 || ratio > 1.01 {
			t.Errorf("%s, %d bytes: %v; measured %v", c.link, c.bytes, got, c.measured)
		}
	}
}
