// Package faults holds the fault campaign: a real sweep in a real lab, into which
// every fault of docs/FAULTS.md is brought. This file says what has to come of each.
package faults

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// The parts that get a fault.
const (
	Runner     = "runner"
	K6         = "k6"
	Nginx      = "nginx"
	Gateway    = "gateway"
	Agent      = "link agent"
	Prometheus = "Prometheus"
	Lab        = "whole lab"
)

// Parts are all of them, in docs/FAULTS.md's order.
var Parts = []string{Runner, K6, Nginx, Gateway, Agent, Prometheus, Lab}

// The moments of a cell at which a fault comes.
const (
	StartUp = "start-up" // k6 has been started, its clients have not
	WarmUp  = "warm-up"
	Window  = "window"
	End     = "end" // the window is over, the cell is not saved yet
)

// Moments are all of them, in the order in which they come.
var Moments = []string{StartUp, WarmUp, Window, End}

// Signals are those that a part gets. SIGSTOP is followed by SIGCONT.
var Signals = []unix.Signal{unix.SIGKILL, unix.SIGTERM, unix.SIGHUP, unix.SIGSTOP}

// Outcome is what has to come of a fault.
type Outcome string

// The outcomes of the cell that a fault hits.
const (
	Refused Outcome = "refused" // not counted; RESUME measures it
	Counted Outcome = "counted" // the fault took nothing from it
	Either  Outcome = "either"  // refused or counted whole: the moment decides
)

// Expected returns what has to come of the cell in which a part gets a signal.
func Expected(part string, signal unix.Signal, moment string) Outcome {
	stop := signal == unix.SIGSTOP
	switch {
	case part == Prometheus: // copies for looking at
		return Counted
	case part == Gateway && signal == unix.SIGHUP: // it reads its manifest again
		return Counted
	case moment == End:
		return Either
	// Before its clients start k6 may take its time, and so may all together.
	case moment == StartUp && stop && (part == K6 || part == Lab):
		return Either
	}
	return Refused
}

// Table returns all of it as docs/FAULTS.md has it.
func Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| part | signal | %s |\n|---|---|%s\n", strings.Join(Moments, " | "), strings.Repeat("---|", len(Moments)))
	for _, part := range Parts {
		for _, signal := range Signals {
			fmt.Fprintf(&b, "| %s | %s |", part, unix.SignalName(signal))
			for _, moment := range Moments {
				fmt.Fprintf(&b, " %s |", Expected(part, signal, moment))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
