package compare

import (
	"maps"
	"math"
	"slices"

	"piecebench/bench/readable"
	"piecebench/bench/result"
)

// Difference is something beside the figures in which two runs differ, and
// which may be why the figures do.
type Difference struct {
	Of   string // machine, setting or link
	Name string
	A, B string // empty where that run has none
}

// ceilingDrift is how far two measurements of the same link may lie apart.
const ceilingDrift = 0.02

// differences lists what of two runs' machines, settings and links is not the same.
func differences(a, b *result.Run) []Difference {
	list := unequal("machine", a.Fingerprint, b.Fingerprint)
	list = append(list, unequal("setting", a.Settings, b.Settings)...)
	for _, x := range a.Calibrations {
		i := slices.IndexFunc(b.Calibrations, func(c result.Calibration) bool { return c.Link == x.Link })
		if i < 0 {
			continue
		}
		y := b.Calibrations[i]
		add := func(name, of, with string) {
			if of != with {
				list = append(list, Difference{"link", x.Link + " " + name, of, with})
			}
		}
		add("backend", x.Backend, y.Backend)
		add("host-limited", yes(x.HostLimited), yes(y.HostLimited))
		if math.Abs(float64(y.CeilingBits-x.CeilingBits)) > ceilingDrift*float64(x.CeilingBits) {
			add("ceiling", megabits(x.CeilingBits), megabits(y.CeilingBits))
		}
	}
	return list
}

func unequal(of string, a, b map[string]string) []Difference {
	var list []Difference
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if a[name] != b[name] {
			list = append(list, Difference{of, name, a[name], b[name]})
		}
	}
	return list
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func megabits(bits int64) string { return readable.Megabits(float64(bits)) + " Mbit/s" }
