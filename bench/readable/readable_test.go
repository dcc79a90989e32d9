package readable

import "testing"

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
