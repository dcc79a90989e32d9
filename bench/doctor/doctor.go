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
	Unknown           // the evidence could not be had
	Note              // good to know; results stand
	Distorts          // results are not what they would be without it
	Blocks            // the bench cannot run
)

// Finding is what one check came to.
type Finding struct {
	Check    string // the check's name
	Severity Severity
	Evidence string // what was seen; of Unknown why nothing was
	Fix      string // a command, or what else to do; empty where there is nothing to fix
}

// check is one thing that is looked for.
type check struct {
	name    string
	examine func(*Host) Finding
}

// checks in the order that they are told.
var checks = []check{
	{"runtime", runtime},
	{"root", root},
	{"programs", programs},
	{"rate", rate},
	{"delay", delay},
	{"ports", ports},
	{"addresses", addresses},
	{"conntrack", conntrack},
	{"descriptors", descriptors},
	{"labs", labs},
	{"link agent", linkAgent},
	{"cpus", cpus},
	{"governor", governor},
	{"clock source", clockSource},
	{"steal", steal},
	{"load", load},
	{"memory", memory},
	{"swap", swap},
	{"huge pages", hugePages},
	{"page reporting", pageReporting},
	{"damon", damon},
	{"disk", disk},
}

// Examine carries out every check, in order.
func Examine(h *Host) []Finding {
	findings := make([]Finding, len(checks))
	for i, c := range checks {
		findings[i] = c.examine(h)
		findings[i].Check = c.name
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

// Write prints the findings, the worst first, and then the names of the checks
// that were clean.
func Write(w io.Writer, findings []Finding) error {
	var text strings.Builder
	for _, shown := range []struct {
		severity Severity
		word     string
	}{{Blocks, "BLOCKS"}, {Distorts, "DISTORTS"}, {Note, "note"}} {
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
	var clean []string
	for _, f := range findings {
		switch f.Severity {
		case Clean:
			clean = append(clean, f.Check)
		case Unknown:
			fmt.Fprintf(&text, "%-9s %s: %s\n", "unknown", f.Check, f.Evidence)
		}
	}
	if len(clean) > 0 {
		fmt.Fprintf(&text, "%-9s %s\n", "clean", strings.Join(clean, ", "))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func unknown(err error) Finding { return Finding{Severity: Unknown, Evidence: err.Error()} }
