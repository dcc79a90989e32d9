// Package doctor looks for what on this machine would distort a run's results,
// or keep it from running, and names the fix. It changes nothing, and uses no
// network.
package doctor

import (
	"fmt"
	"io"
	"strings"
)

// Severity says what a finding means for a run, the worse the larger.
type Severity int

const (
	Clean    Severity = iota
	Unknown           // the evidence cannot be read
	Note              // good to know; results stand
	Distorts          // results are not what they would be without it
	Blocks            // the bench cannot run
)

// Finding is the result of one check.
type Finding struct {
	Check    string // the check's name
	Severity Severity
	Evidence string // what was seen; of Unknown why nothing was
	Fix      string // a command, or what else to do; empty where there is nothing to fix
}

var clean = Finding{}

func blocks(fix, format string, args ...any) (Finding, error) {
	return Finding{Severity: Blocks, Evidence: fmt.Sprintf(format, args...), Fix: fix}, nil
}

func distorts(fix, format string, args ...any) (Finding, error) {
	return Finding{Severity: Distorts, Evidence: fmt.Sprintf(format, args...), Fix: fix}, nil
}

func note(fix, format string, args ...any) (Finding, error) {
	return Finding{Severity: Note, Evidence: fmt.Sprintf(format, args...), Fix: fix}, nil
}

// Which lab a check is for.
type labs int

const (
	both labs = iota
	native
	containers
)

// checks in the order that they are shown. An error means that the evidence cannot
// be read.
var checks = []struct {
	name    string
	of      labs
	examine func(*Host) (Finding, error)
}{
	{"runtime", both, runtime},
	{"root", native, root},
	{"programs", native, programs},
	{"rate", both, rate},
	{"delay", both, delay},
	{"ports", native, nativePorts},
	{"ports", containers, containerPorts},
	{"addresses", containers, addresses},
	{"conntrack", containers, conntrack},
	{"packet backlog", containers, packetBacklog}, // the native lab raises it
	{"descriptors", native, descriptors},          // containers have the engine's limit
	{"labs", both, nativeLabs},
	{"link agent", both, linkAgent},
	{"cpus", both, cpus},
	{"governor", both, governor},
	{"clock source", both, clockSource},
	{"steal", both, steal},
	{"load", both, load},
	{"memory", both, memory},
	{"swap", both, swap},
	{"huge pages", both, hugePages},
	{"page reporting", both, pageReporting},
	{"damon", both, damon},
	{"disk", both, disk},
}

// Examine carries out every check of the lab that make bench would run here.
func Examine(h *Host) (findings []Finding) {
	lab := containers
	if h.native() {
		lab = native
	}
	for _, c := range checks {
		if c.of != both && c.of != lab {
			continue
		}
		f, err := c.examine(h)
		if err != nil {
			f = Finding{Severity: Unknown, Evidence: err.Error()}
		}
		f.Check = c.name
		findings = append(findings, f)
	}
	return findings
}

// Worst returns the names of the checks that found the worst there is.
func Worst(findings []Finding) (worst Severity, names []string) {
	for _, f := range findings {
		if f.Severity > worst {
			worst, names = f.Severity, nil
		}
		if f.Severity == worst {
			names = append(names, f.Check)
		}
	}
	return worst, names
}

// words are what stands before a finding, the worst first.
var words = []struct {
	severity Severity
	word     string
}{{Blocks, "BLOCKS"}, {Distorts, "DISTORTS"}, {Note, "note"}, {Unknown, "unknown"}}

// Write prints the findings, the worst first, and then the names of the checks
// that were clean.
func Write(w io.Writer, findings []Finding) error {
	var text strings.Builder
	var sound []string
	for _, shown := range words {
		for _, f := range findings {
			if f.Severity != shown.severity {
				continue
			}
			fmt.Fprintf(&text, "%-9s %s: %s\n", shown.word, f.Check, f.Evidence)
			if f.Fix != "" {
				fmt.Fprintf(&text, "%-9s   -> %s\n", "", f.Fix)
			}
		}
	}
	for _, f := range findings {
		if f.Severity == Clean {
			sound = append(sound, f.Check)
		}
	}
	if len(sound) > 0 {
		fmt.Fprintf(&text, "%-9s %s\n", "clean", strings.Join(sound, ", "))
	}
	_, err := io.WriteString(w, text.String())
	return err
}
