package readable

import (
	"math"
	"testing"
)

func TestFiguresDoNotMislead(t *testing.T) {
	for share, want := range map[float64]string{1: "100 %", 0.99999: "99.99 %", 0.9995: "99.95 %", 0.5: "50.0 %", 0.00001: "0.01 %", 0: "0 %"} {
		if got := Percent(share); got != want {
			t.Errorf("Percent(%v) = %q, want %q", share, got, want)
		}
	}
	for share, want := range map[float64]string{1: "100 %", 0.996: "100 %", 0.5: "50 %", 0.034: "3 %", 0.0096: "1 %", 0.004: "0.4 %", 0.00099: "0.1 %",
		0.0004: "0.04 %", 1e-7: "0.01 %", 0: "0 %", -0.1: "-10 %", -0.0004: "-0.04 %"} {
		if got := WholePercent(share); got != want {
			t.Errorf("WholePercent(%v) = %q, want %q", share, got, want)
		}
	}
	for ms, want := range map[float64]string{0: "0 ms", 0.5: "0.50 ms", 81.46: "81.5 ms", 99.96: "100 ms", 999.4: "999 ms", 999.6: "1.00 s", 12000: "12.0 s", 615000: "615 s"} {
		if got := Duration(ms); got != want {
			t.Errorf("Duration(%v) = %q, want %q", ms, got, want)
		}
	}
	for bits, want := range map[float64]string{0: "0", 173.4e6: "173", 19.96e6: "20.0", 4.2e6: "4.20", 9564.1e6: "9564"} {
		if got := Megabits(bits); got != want {
			t.Errorf("Megabits(%v) = %q, want %q", bits, got, want)
		}
	}
}

func TestAnIntervalHasNoAbsurdEnds(t *testing.T) {
	for _, c := range []struct {
		low, high   float64
		want, short string
	}{
		{0.95, 1.05, "0.950 to 1.050", "0.95 to 1.05"},
		{0.0004, 346643964, "not known", "not known"},
		{0.004, 111995, "> 0.004", "not known"},
		{0, 1.25, "< 1.250", "< 1.25"},
		{0.76, math.Inf(1), "> 0.760", "> 0.76"},
		{0.9, 99999, "0.900 to 99999", "0.90 to 99999"},
	} {
		if got, short := Interval(c.low, c.high, Ratio), Interval(c.low, c.high, ThreeDigits); got != c.want || short != c.short {
			t.Errorf("%v to %v: %q and %q, want %q and %q", c.low, c.high, got, short, c.want, c.short)
		}
	}
}
