// Package bottleneck finds what limited a cell: the first of its Rules that holds for what
// was observed. docs/METHODOLOGY.md has the same table.
package bottleneck

import "piecebench/bench/result"

// Bottlenecks.
const (
	Link      = "link"       // the link was full
	ServerCPU = "server-cpu" // the server had no CPU left
	Generator = "generator"  // k6 was out of CPU, or its TCP window was full
	Host      = "host"       // servers, link and clients together used all CPUs
	Emulator  = "emulator"   // the emulated link did not keep to its settings
	Server    = "server"     // the server was slow although it had CPU to spare
	Latency   = "latency"    // round trips: more clients would get more
	// ClientWork is what a workload with jobs asks of its clients beside downloading.
	ClientWork = "client work"
)

// Of returns what limited a cell, and the figures that show it, in words. Both are empty
// where no rule holds.
func Of(c result.Cell) (by, because string) {
	var seen result.Evidence
	if c.Evidence != nil {
		seen = *c.Evidence
	}
	for _, rule := range Rules {
		if because, ok := rule.holds(c, seen); ok {
			return rule.By, because
		}
	}
	return "", ""
}
