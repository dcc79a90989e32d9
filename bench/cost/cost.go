// Package cost computes the cost of delivering data. docs/METHODOLOGY.md has the formula.
package cost

import (
	"errors"
	"math"
	"strconv"
)

// Prices are all in the same currency. A price of 0 does not count.
type Prices struct {
	Egress     float64 // of a GB (10^9 bytes) that leaves the server
	ServerHour float64 // of a server for an hour
}

// Given tells whether any price counts.
func (p Prices) Given() bool { return p.Egress > 0 || p.ServerHour > 0 }

// Parse reads a price: a number from 0, such as 0.05.
func Parse(text string) (float64, error) {
	price, err := strconv.ParseFloat(text, 64)
	if err != nil || !(price >= 0) || math.IsInf(price, 0) {
		return 0, errors.New("want a price: a number from 0, such as 0.05, without a currency; 0 does not count")
	}
	return price, nil
}

// TB is the cost of a terabyte (10^12 bytes) of goodput, in the currency of the prices.
type TB struct{ Egress, Server float64 }

// Total is the sum.
func (t TB) Total() float64 { return t.Egress + t.Server }

const (
	gbPerTB   = 1e3
	bitsPerTB = 8e12
)

// PerTB returns the cost per TB of goodput from one server that always delivers at these rates,
// in bits per second. Egress is all that is paid for: wire bytes, or delivered bytes, those of
// failed requests included. ok is false where there is no goodput.
func (p Prices) PerTB(goodputBits, egressBits float64) (TB, bool) {
	if !(goodputBits > 0) {
		return TB{}, false
	}
	hours := bitsPerTB / goodputBits / 3600
	return TB{Egress: p.Egress * gbPerTB * egressBits / goodputBits, Server: p.ServerHour * hours}, true
}
