// Package bytesize reads and writes sizes in bytes with binary units, as
// variables, modes and messages name them: 512MiB.
package bytesize

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

var units = []struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

var notation = regexp.MustCompile(`^([1-9][0-9]*)(B|KiB|MiB|GiB|TiB)?$`)

// Parse reads a whole number of at least 1 with a unit: B, KiB, MiB, GiB or
// TiB; no unit means bytes.
func Parse(s string) (int64, error) {
	m := notation.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("size %q: want a whole number with B, KiB, MiB, GiB or TiB, such as 512MiB", s)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	for _, u := range units {
		if err == nil && u.name == m[2] {
			if n > math.MaxInt64/u.bytes {
				err = strconv.ErrRange
			}
			n *= u.bytes
		}
	}
	if err != nil {
		return 0, fmt.Errorf("size %q: too large", s)
	}
	return n, nil
}

// String writes n exactly, with the largest unit that divides it: 1572864 is "1536KiB".
func String(n int64) string {
	for _, u := range units {
		if n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}
