package verify_test

import (
	"testing"

	"piecebench/piece/verify"
)

// What checking costs: `go test -run '^$' -bench Check ./piece/verify`.
func BenchmarkCheck(b *testing.B) {
	for _, make := range kinds {
		m, p, data := make()
		ref, err := verify.Open(dir, m, p)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(p.CID, func(b *testing.B) {
			b.SetBytes(4 * mib)
			for b.Loop() {
				c := ref.Range(0, 4*mib)
				if err := write(c, data[:4*mib], 256<<10); err != nil || c.Checked() != 4*mib {
					b.Fatal(err)
				}
			}
		})
	}
}
