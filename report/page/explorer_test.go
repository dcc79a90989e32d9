package page

import (
	"testing"

	"piecebench/bench/result"
)

func TestALongCellsGoodputOverTimeIsAveraged(t *testing.T) {
	c := result.Cell{WindowS: 600}
	for s := range 600 {
		c.Series = append(c.Series, result.SeriesPoint{T: float64(s + 1), DeliveredBits: float64(s%2) * 2e6})
	}
	c.Series = append(c.Series, result.SeriesPoint{T: 600.1, DeliveredBits: 9e9}) // after the window
	got := goodputSeries(c)
	if len(got) != 120 || got[119][0] != 600 || got[0][1] < 0.7 || got[0][1] > 1.3 {
		t.Errorf("%d points, first %v, last %v", len(got), got[0], got[len(got)-1])
	}
}
