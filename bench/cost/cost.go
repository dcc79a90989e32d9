// Package cost says what it costs to deliver data, by the prices that somebody
// pays: docs/METHODOLOGY.md has the formula.
package cost

import (
	"errors"
	"math"
	"strconv"
)

// Prices are in one currency, whichever. One that is 0 is not counted.
type Prices struct {
	Egress     float64 // of a GB (10^9 bytes) that leaves the server
	ServerHour float64 // of a server for an hour
}

// Given tells whether there is a price at all.
func (p Prices) Given() bool { return p.Egress > 0 || p.ServerHour > 0 }

// Parse reads a price: a number from 0, such as 0.05.
func Parse(text string) (float64, error) {
	price, err := strconv.ParseFloat(text, 64)
	if err != nil || !(price >= 0) || math.IsInf(price, 0) {
		return 0, errors.New("want a price: a number from 0, such as 0.05, without a currency; 0 counts none")
	}
	return price, nil
}

// TB is what the delivery of a terabyte (10^12 bytes) of goodput costs, in the
// currency of the prices.
type TB struct{ Egress, Server float64 }

// Total is all that is counted.
func (t TB) Total() float64 { return t.Egress + t.Server }

const (
	gbPerTB   = 1e3
	bitsPerTB = 8e12
)

// PerTB returns the cost per TB of goodput from one server that delivers so many
// bits per second all the time, of which goodputBits are of use: egress is paid for
// all of them. False where there is no goodput.
func (p Prices) PerTB(goodputBits, deliveredBits float64) (TB, bool) {
	if !(goodputBits > 0) {
		return TB{}, false
	}
	hours := bitsPerTB / goodputBits / 3600
	return TB{Egress: p.Egress * gbPerTB * deliveredBits / goodputBits, Server: p.ServerHour * hours}, true
}
