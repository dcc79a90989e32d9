package fr32_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"piecebench/piece/fr32"
)

// BenchmarkUnpadOverCopy reports the speed of Unpad as a share of copy()'s of
// the same size (of-copy): the median of rounds in which both take turns,
// because the speed of memory changes with what else a machine does.
func BenchmarkUnpadOverCopy(b *testing.B) {
	for _, kib := range []int{256, 16 << 10} {
		b.Run(fmt.Sprint(kib, "KiB"), func(b *testing.B) {
			padded := random(kib << 10)
			payload := make([]byte, len(padded))
			time1 := func(f func()) float64 {
				const atLeast = 200 * time.Microsecond // one turn, where memory is the limit
				start, n := time.Now(), 0
				for n == 0 || time.Since(start) < atLeast {
					f()
					n++
				}
				return time.Since(start).Seconds() / float64(n)
			}
			copy(payload, padded) // page faults are not what is measured
			var ratios []float64
			var copies, unpads float64
			for b.Loop() {
				c := time1(func() { copy(payload, padded) })
				u := time1(func() { fr32.Unpad(payload, padded) })
				copies, unpads = copies+c, unpads+u
				ratios = append(ratios, c/u)
			}
			slices.Sort(ratios)
			gb := float64(len(padded)) * float64(len(ratios)) / 1e9
			b.ReportMetric(ratios[len(ratios)/2], "of-copy")
			b.ReportMetric(gb/copies, "copy-GB/s")
			b.ReportMetric(gb/unpads, "unpad-GB/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}
