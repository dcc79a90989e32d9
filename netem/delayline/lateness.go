package delayline

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Lateness counts how late packets left, in microseconds, in buckets that are
// at most an eighth wide. One thread adds, any may read.
type lateness struct {
	buckets [buckets]atomic.Int64
	sumUs   atomic.Int64
	maxUs   atomic.Int64
}

// Eight buckets of one microsecond each, then eight for each power of two up
// to 2^32 us (over an hour).
const buckets = 8 * (32 - 3 + 1)

func bucketOf(us int64) int {
	if us < 8 {
		return int(us)
	}
	exponent := bits.Len64(uint64(us)) - 1
	return min(8*(exponent-2)+int(us>>(exponent-3))&7, buckets-1)
}

// upperBound is the largest value of a bucket.
func upperBound(bucket int) int64 {
	if bucket < 8 {
		return int64(bucket)
	}
	exponent := bucket/8 + 2
	return int64(bucket%8+8+1)<<(exponent-3) - 1
}

func (l *lateness) add(d time.Duration) {
	us := max(d.Microseconds(), 0)
	l.buckets[bucketOf(us)].Add(1)
	l.sumUs.Add(us)
	if us > l.maxUs.Load() {
		l.maxUs.Store(us)
	}
}

func (l *lateness) snapshot() Histogram {
	h := Histogram{SumUs: l.sumUs.Load(), MaxUs: l.maxUs.Load()}
	for i := range l.buckets {
		h.counts[i] = l.buckets[i].Load()
		h.Count += h.counts[i]
	}
	return h
}

// Histogram is a distribution of microseconds.
type Histogram struct {
	Count, SumUs, MaxUs int64
	counts              [buckets]int64
}

// Quantile returns the q-quantile in microseconds, at most an eighth too high;
// 0 when nothing was counted.
func (h *Histogram) Quantile(q float64) int64 {
	rank := int64(q * float64(h.Count))
	var seen int64
	for i, n := range h.counts {
		seen += n
		if n > 0 && seen > rank {
			return min(upperBound(i), h.MaxUs)
		}
	}
	return h.MaxUs
}

// Below returns how many values are at most us, exactly so where us is one
// less than a power of two.
func (h *Histogram) Below(us int64) int64 {
	var n int64
	for i := 0; i < buckets && upperBound(i) <= us; i++ {
		n += h.counts[i]
	}
	return n
}
