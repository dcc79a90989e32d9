package stats

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// The definition: were the share at the bound, so many good ones would be seen in 5 % of all cases.
func TestAShareAtLeastIsExact(t *testing.T) {
	for _, c := range [][2]int64{{1, 10}, {59, 59}, {194, 200}, {9990, 10000}, {5, 100}, {1, 1}} {
		k, n := c[0], c[1]
		low := ShareAtLeast(k, n, 0.95)
		tail := 1 - distuv.Binomial{N: float64(n), P: low}.CDF(float64(k)-1)
		if math.Abs(tail-0.05) > 1e-6 {
			t.Errorf("%d of %d: bound %v has a tail of %v, want 0.05", k, n, low, tail)
		}
	}
	if low := ShareAtLeast(0, 10, 0.95); low != 0 {
		t.Errorf("0 of 10: %v", low)
	}
	if low, want := ShareAtLeast(59, 59, 0.95), math.Pow(0.05, 1.0/59); math.Abs(low-want) > 1e-9 {
		t.Errorf("59 of 59: %v, want %v", low, want)
	}
}

// Dealbot wants 97 % of 200 checks, to be 95 % sure of more than 95 %. Its number comes out of the
// textbook's interval: 197. That interval promises too much; the exact one takes more checks.
func TestChecksOfDealbot(t *testing.T) {
	const seen, sure, level = 0.97, 0.95, 0.95
	z := distuv.UnitNormal.Quantile(level)
	textbook := math.Ceil(z * z * seen * (1 - seen) / ((seen - sure) * (seen - sure)))
	if textbook != 197 {
		t.Errorf("the textbook's interval takes %v checks, want 197", textbook)
	}
	exact := int64(100)
	for ShareAtLeast(exact*97/100, exact, level) < sure {
		exact += 100
	}
	if exact != 400 {
		t.Errorf("the exact one takes %d checks, in hundreds", exact)
	}
	if low := ShareAtLeast(194, 200, level); low >= sure || low < 0.93 {
		t.Errorf("194 of 200 promise %v, want somewhat less than %v", low, sure)
	}
	if n := MoreForShare(0, 0, sure, level); n != 59 {
		t.Errorf("without a failure it takes %d checks, want 59", n)
	}
	if n := MoreForShare(194, 200, sure, level); ShareAtLeast(194+n, 200+n, level) < sure || ShareAtLeast(194+n-1, 200+n-1, level) >= sure {
		t.Errorf("%d more is not the least number", n)
	}
	if n := MoreForShare(59, 59, sure, level); n != 0 {
		t.Errorf("what is reached takes %d more", n)
	}
}
