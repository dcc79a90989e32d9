package report

import (
	"testing"

	"piecebench/bench/stats"
)

func TestABoundIsColouredByWhatItShows(t *testing.T) {
	for ratio, want := range map[stats.Range]string{
		stats.AtLeast(0.5): "plain", stats.AtLeast(1.2): "worse1", stats.AtLeast(9): "worst", {High: 0.5}: "better", {High: 4}: "plain", stats.Exactly(0.5): "better",
	} {
		if got := ttfbClass(ratio); got != want {
			t.Errorf("%v is coloured %s, want %s", ratio, got, want)
		}
	}
}

func TestASmallPriceIsNotLost(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.00001234: "1.234e-05", 0.012345: "0.01235", 0.9996: "1.00", 23.567: "23.57", 4473.4: "4473", 199.96: "200.0"} {
		if got := money(v); got != want {
			t.Errorf("money(%v) = %q, want %q", v, got, want)
		}
	}
}
