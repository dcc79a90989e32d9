package stats

import (
	"math"
	"testing"
)

// A bound among the values is no value: of >500, 800 and 900 the middle is 800 only
// if the first is less.
func TestABoundIsNoValueInTheMiddle(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name                     string
		values                   []Range
		median, middle, greatest Range
	}{
		{"known", []Range{Exactly(9), Exactly(1), Exactly(2)}, Exactly(2), Exactly(2), Exactly(9)},
		{"known, of four", []Range{Exactly(4), Exactly(1), Exactly(3), Exactly(2)}, Exactly(2.5), Exactly(3), Exactly(4)},
		{"a bound below", []Range{AtLeast(500), Exactly(800), Exactly(900)}, Range{800, 900}, Range{800, 900}, Range{900, inf}},
		{"a bound above", []Range{AtLeast(1000), Exactly(800), Exactly(900)}, Exactly(900), Exactly(900), AtLeast(1000)},
		{"most are bounds", []Range{AtLeast(500), AtLeast(600), Exactly(900)}, Range{600, inf}, Range{600, inf}, Range{900, inf}},
		{"one", []Range{AtLeast(7)}, AtLeast(7), AtLeast(7), AtLeast(7)},
		{"upper and lower bounds", []Range{{0, 0.5}, Exactly(1), AtLeast(2)}, Exactly(1), Exactly(1), AtLeast(2)},
		{"an upper bound above", []Range{{0, 3}, Exactly(1), Exactly(2)}, Range{1, 2}, Range{1, 2}, Range{2, 3}},
	} {
		for _, of := range []struct {
			name string
			got  func([]Range) (Range, bool)
			want Range
		}{{"median", Median, c.median}, {"middle", Middle, c.middle}, {"greatest", Greatest, c.greatest}} {
			if got, ok := of.got(c.values); got != of.want || !ok || got.Known() != (of.want.Low == of.want.High) {
				t.Errorf("%s: the %s is %v, want %v", c.name, of.name, got, of.want)
			}
		}
	}
	if _, ok := Median(nil); ok {
		t.Error("nothing has a median")
	}
}
