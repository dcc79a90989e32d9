package cost

import (
	"math"
	"testing"
)

// The published example of Skyplane's benchmarks: 223.67 GB in 266.23 s from 2
// servers of 1.536 an hour each, at 0.02 per GB. There 21.06 % of the bytes were
// left after compression; here none is compressed.
func TestATransferCostsWhatItsPublishedSumSays(t *testing.T) {
	const gb, seconds, servers = 223.67, 266.23, 2
	per, ok := Prices{Egress: 0.02, ServerHour: servers * 1.536}.PerTB(gb*1e9*8/seconds, gb*1e9*8/seconds)
	if !ok {
		t.Fatal("no cost")
	}
	egress, server := per.Egress*gb/1000, per.Server*gb/1000
	if got := egress*(1-0.7894) + server; math.Abs(got-1.17) > 0.005 {
		t.Errorf("the transfer cost %.4f, of which servers %.4f; published is 1.17", got, server)
	}
	if math.Abs(per.Total()-(per.Egress+per.Server)) > 1e-12 {
		t.Errorf("total %v of %+v", per.Total(), per)
	}
}

func TestCostPerTB(t *testing.T) {
	// 1 TB at 1 Gbit/s takes 8000 s.
	for _, c := range []struct {
		prices Prices
		bits   float64
		want   float64
	}{
		{Prices{Egress: 0.05}, 1e9, 50},
		{Prices{Egress: 0.05}, 1, 50}, // however long it takes
		{Prices{ServerHour: 0.9}, 1e9, 2},
		{Prices{ServerHour: 0.9}, 1e10, 0.2},
		{Prices{Egress: 0.05, ServerHour: 0.9}, 1e9, 52},
	} {
		if got, ok := c.prices.PerTB(c.bits, c.bits); !ok || math.Abs(got.Total()-c.want) > 1e-9 {
			t.Errorf("%+v at %g bit/s: %v, want %v", c.prices, c.bits, got.Total(), c.want)
		}
	}
	for _, nothing := range []float64{0, math.NaN()} {
		if got, ok := (Prices{Egress: 1, ServerHour: 1}).PerTB(nothing, 1e9); ok {
			t.Errorf("delivering at %v bit/s costs %v per TB", nothing, got.Total())
		}
	}
}

func TestAPriceIsANumberFromZero(t *testing.T) {
	for text, want := range map[string]float64{"0": 0, "0.05": 0.05, "1.536": 1.536, "1e-3": 0.001} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-1", "-0.5", "NaN", "Inf", "+Inf", "1e999", "cheap", "0,05", "$1", "0.05 EUR", " 1"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q is taken for the price %v", text, got)
		}
	}
}

// Half of what is delivered is of no use: a TB of use takes twice the time and
// twice the egress.
func TestBytesOfFailedRequestsArePaidFor(t *testing.T) {
	got, ok := Prices{Egress: 0.02, ServerHour: 0.9}.PerTB(0.5e9, 1e9)
	if !ok || math.Abs(got.Egress-40) > 1e-9 || math.Abs(got.Server-4) > 1e-9 {
		t.Errorf("%+v, %v; want 40 of egress and 4 of the server", got, ok)
	}
}
