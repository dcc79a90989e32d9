package delayline

import (
	"testing"
	"time"
)

func TestEveryValueIsInItsBucket(t *testing.T) {
	for us := range int64(1 << 20) {
		b := bucketOf(us)
		if us > upperBound(b) || b > 0 && us <= upperBound(b-1) {
			t.Fatalf("%d us is in bucket %d, which ends at %d", us, b, upperBound(b))
		}
		if wide := upperBound(b) - us; wide*8 > max(us, 8) {
			t.Fatalf("bucket %d of %d us ends at %d: wider than an eighth", b, us, upperBound(b))
		}
	}
	if b := bucketOf(1 << 40); b != buckets-1 {
		t.Errorf("2^40 us is in bucket %d, want the last", b)
	}
}

func TestQuantiles(t *testing.T) {
	var l lateness
	h := l.snapshot()
	if got := h.Quantile(0.99); got != 0 {
		t.Errorf("p99 of nothing is %d", got)
	}
	for us := range 1000 {
		l.add(time.Duration(us) * time.Microsecond)
	}
	l.add(-time.Second) // a clock that steps is not late
	h = l.snapshot()
	for q, want := range map[float64]int64{0.5: 500, 0.99: 990, 1: 999} {
		if got := h.Quantile(q); got < want-1 || got > want*9/8 {
			t.Errorf("quantile %v is %d us, want %d to %d", q, got, want, want*9/8)
		}
	}
	if h.Count != 1001 || h.MaxUs != 999 || h.Below(127) != 129 {
		t.Errorf("count %d, max %d, below 128 us %d; want 1001, 999, 129", h.Count, h.MaxUs, h.Below(127))
	}
}
