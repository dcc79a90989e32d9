package bottleneck

import (
	"fmt"
	"strings"

	"piecebench/bench/readable"
	"piecebench/bench/result"
	"piecebench/netem/client"
	"piecebench/records"
)

var (
	percent      = readable.WholePercent
	milliseconds = readable.Duration
	heldAfter    = milliseconds(float64(client.HeldAfter.Milliseconds()))
)

// usedUp holds when a program used all the CPUs that it may use.
func usedUp(name string, use *result.CPUUse) (string, bool) {
	switch {
	case use == nil || use.Allowed <= 0:
		return "", false
	case use.CPUs >= cpuFull*use.Allowed:
		return fmt.Sprintf("%s used %.2f of the %.4g CPUs that it may use", name, use.CPUs, use.Allowed), true
	// The kernel hands a quota to the CPUs in slices, and some of them expire: a program
	// can be throttled although it did not use all of its quota.
	case use.Throttled >= quotaUsedUp:
		return fmt.Sprintf("%s was stopped in %s of the periods of its quota, %.4g CPUs, of which it used %.2f", name, percent(use.Throttled), use.Allowed, use.CPUs), true
	}
	return fmt.Sprintf("one thread of %s was busy %s of the time", name, percent(use.BusiestThread)), use.BusiestThread >= cpuFull
}

// waitsForServer holds when, on most connections, TCP had sent all that the server had
// written. It has as well while clients of a workload with jobs have asked for nothing:
// that time is left out.
func waitsForServer(c result.Cell, e result.Evidence) (string, bool) {
	if e.TCP == nil || e.TCP.Connections == 0 || e.RTTMs < minRTTMs {
		return "", false
	}
	idle, while := 1-e.TCP.Waiting, ""
	if c.Jobs != nil {
		download := max(1e-3, c.Jobs.Share(records.Download))
		idle, while = max(0, idle-(1-download))/download, ", while a request was running,"
	}
	return fmt.Sprintf("on %s of the connections%s TCP waited for the server to write", percent(idle), while) + cpus(e), idle >= idleShare
}

// tookMost holds when all CPUs were busy and one program took most of them.
func tookMost(name string, use *result.CPUUse, c result.Cell, e result.Evidence) (string, bool) {
	if use == nil || e.HostCPUs == 0 {
		return "", false
	}
	return fmt.Sprintf("%s used %.2f of %d CPUs, which were %s busy", name, use.CPUs, e.HostCPUs, percent(c.HostCPU)),
		c.HostCPU >= cpuFull && use.CPUs >= mostOf*float64(e.HostCPUs)
}

// busy says which programs used the CPUs.
func busy(c result.Cell, e result.Evidence) string {
	text := fmt.Sprintf("all CPUs %s busy", percent(c.HostCPU))
	if e.HostCPUs == 0 {
		return text
	}
	rest := c.HostCPU * float64(e.HostCPUs)
	var parts []string
	for _, part := range []struct {
		name string
		cpus *float64
	}{{"server", used(e.Server)}, {"k6", used(e.Generator)}, {"link agent", e.Agent}} {
		if part.cpus != nil {
			parts = append(parts, fmt.Sprintf("%s %.2f", part.name, *part.cpus))
			rest -= *part.cpus
		}
	}
	return fmt.Sprintf("%s (of %d: %s, kernel and others %.2f)", text, e.HostCPUs, strings.Join(parts, ", "), max(0, rest))
}

func used(use *result.CPUUse) *float64 {
	if use == nil {
		return nil
	}
	return &use.CPUs
}

// cpus says how much CPU a slow server used.
func cpus(e result.Evidence) string {
	if e.Server == nil {
		return ""
	}
	return fmt.Sprintf("; it used %.2f of %.4g CPUs", e.Server.CPUs, e.Server.Allowed)
}

// stages names the local stages, with their shares, in brackets.
func stages(j result.Jobs) string {
	var names []string
	for _, s := range j.Stages {
		if s.Name != records.Download {
			names = append(names, s.Name+" "+percent(s.Share))
		}
	}
	if names == nil {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}
