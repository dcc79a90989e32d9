package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"piecebench/bench/readable"
	"piecebench/bench/result"
	"piecebench/bench/settings"
)

// Difference is a condition in which two runs differ. It may be why their figures differ.
type Difference struct {
	Of   string // machine, setting or link
	Name string
	A, B string // empty where that run has none
}

// ceilingDrift is how far two measurements of the same link may differ.
const ceilingDrift = 0.02

// differences lists how two runs' machines, settings and links differ. Prices do not count:
// they change nothing that is measured.
func differences(a, b *result.Run) []Difference {
	oneProgram := a.Piecebench == b.Piecebench && a.Fingerprint["revision"] == b.Fingerprint["revision"]
	list := unequal("machine", a.Fingerprint, b.Fingerprint, oneProgram)
	list = append(list, unequal("setting", settings.Measuring(a.Settings), settings.Measuring(b.Settings), oneProgram)...)
	if a.Capacity != nil && b.Capacity != nil && a.Capacity.Limits != b.Capacity.Limits {
		list = append(list, Difference{"setting", "limits", a.Capacity.Limits, b.Capacity.Limits})
	}
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

// unequal lists the names whose values differ. Two revisions of piecebench may collect
// different names: then all names that only one run has are one difference.
func unequal(of string, a, b map[string]string, oneProgram bool) []Difference {
	var list []Difference
	var onlyA, onlyB []string
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		_, inA := a[name]
		_, inB := b[name]
		switch {
		case a[name] == b[name]:
		case oneProgram || inA && inB:
			list = append(list, Difference{of, name, a[name], b[name]})
		case inA:
			onlyA = append(onlyA, name)
		default:
			onlyB = append(onlyB, name)
		}
	}
	if onlyA != nil || onlyB != nil {
		list = append(list, Difference{of, inOneOnly, some(onlyA), some(onlyB)})
	}
	return list
}

// inOneOnly stands for the names that one run lacks.
const inOneOnly = "in one run only"

// some names the first few.
func some(names []string) string {
	const few = 4
	if n := len(names) - few; n > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), n)
	}
	return strings.Join(names, ", ")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func megabits(bits int64) string { return readable.Megabits(float64(bits)) + " Mbit/s" }
