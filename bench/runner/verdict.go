package runner

import "piecebench/bench/result"

// Shares from which a cell counts as limited by something.
const (
	linkFull = 0.95 // of the link's measured ceiling
	cpuFull  = 0.90 // of all CPUs of the runner's machine
)

// limitedBy says what limited a cell, as far as its own figures show: "link",
// "host" (all CPUs of a machine that servers, link and clients share were
// busy), or nothing.
func limitedBy(c result.Cell) string {
	switch {
	case c.CeilingBits > 0 && !c.HostLimited && c.GoodputBits() >= linkFull*float64(c.CeilingBits):
		return "link"
	case c.HostCPU >= cpuFull:
		return "host"
	}
	return ""
}
