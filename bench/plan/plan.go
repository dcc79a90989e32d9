// Package plan lays out a sweep: which cells it has, in which order.
package plan

import (
	"slices"
	"time"

	"piecebench/bench/calibrate"
	"piecebench/bench/settings"
	"piecebench/bench/workload"
	"piecebench/netem/link"
	"piecebench/piece"
)

// Cell is one measurement: one target under one link, mode and concurrency,
// one repetition.
type Cell struct {
	ID          int // from 1, in the order of the sweep
	Target      settings.Target
	Link        link.Spec
	Mode        workload.Mode
	Concurrency int
	Repetition  int // from 1
}

// Cells returns the sweep in its order: link by link, so that each is set and
// calibrated once; within a repetition the targets follow one another, and the
// next repetition turns their order round (A B B A), so that a slow drift of
// the machine meets both.
func Cells(s settings.Settings) []Cell {
	var cells []Cell
	for _, l := range s.Links {
		for _, mode := range s.Modes {
			for _, clients := range s.Concurrency.Of(mode) {
				for repetition := 1; repetition <= s.Repeat; repetition++ {
					targets := slices.Clone(s.Targets)
					if repetition%2 == 0 {
						slices.Reverse(targets)
					}
					for _, target := range targets {
						cells = append(cells, Cell{len(cells) + 1, target, l, mode, clients, repetition})
					}
				}
			}
		}
	}
	return cells
}

// cellOverhead is what a cell takes beside its warm-up and window: k6's start and
// end, records read back. On a 2-core machine it was 0.6 to 1.1 s, with 1 to 1000
// clients.
const cellOverhead = time.Second

// CellTime returns how long one cell is expected to take; of a cell that ends
// with its requests, the least.
func CellTime(c Cell, s settings.Settings) time.Duration {
	window := s.Duration
	if s.Requests > 0 && c.Mode.Requests > 0 {
		window = min(window, time.Duration(s.Requests)*Ideal(c, s))
	}
	return s.Warmup + window + cellOverhead
}

// CellsTime returns how long cells are expected to take together.
func CellsTime(cells []Cell, s settings.Settings) (sum time.Duration) {
	for _, c := range cells {
		sum += CellTime(c, s)
	}
	return sum
}

// ExpectedTime returns how long the whole sweep is expected to take: its cells,
// and the ceilings before and after them.
func ExpectedTime(s settings.Settings) time.Duration {
	return CellsTime(Cells(s), s) + CeilingsTime(s)
}

// CeilingsTime returns how long the ceilings are expected to take, before and after the cells.
func CeilingsTime(s settings.Settings) (sum time.Duration) {
	for _, l := range s.Links {
		sum += calibrate.Duration(l)
	}
	const generator = calibrate.GeneratorRamp + calibrate.GeneratorWindow + cellOverhead
	return sum + 2*generator
}

// Ideal returns how long one request, or job, of a cell takes when the link is full and
// shared evenly: size x clients / rate. It is 0 without a rate, and where the size is not
// known beforehand.
func Ideal(c Cell, s settings.Settings) time.Duration {
	return c.Link.Transmit(unitBytes(c, s) * float64(c.Concurrency))
}

// MostBytes returns the most payload that a cell can transfer over its link,
// warm-up included.
func MostBytes(c Cell, s settings.Settings) float64 {
	most := float64(c.Link.RateBits) * link.FullSizedShare / 8 * (s.Warmup + s.Duration).Seconds()
	if s.Requests > 0 && c.Mode.Requests > 0 {
		most = min(most, unitBytes(c, s)*float64(c.Concurrency)*float64(s.Requests))
	}
	return most
}

// unitBytes is what one request, or job, of a cell asks for; 0 where it is not known.
func unitBytes(c Cell, s settings.Settings) float64 {
	return float64(c.Mode.UnitBytes(piece.Unpadded(s.Dataset.PieceSize)))
}
