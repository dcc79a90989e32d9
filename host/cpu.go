// Package host reads what a measurement needs to know about the machine: CPU time and
// limits, mounts, the page cache, listening sockets, and missing kernel modules.
package host

import "github.com/prometheus/procfs"

// CPUTime is the CPU time of the whole machine, containers and kernel included, in
// seconds summed over its CPUs.
type CPUTime struct {
	CPUs int     `json:"cpus"`
	Busy float64 `json:"busy_seconds"` // all but idle and I/O wait
	Idle float64 `json:"idle_seconds"`
}

// ReadCPU reads /proc/stat. The result is zero if that fails.
func ReadCPU() CPUTime {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return CPUTime{}
	}
	stat, err := fs.Stat()
	if err != nil {
		return CPUTime{}
	}
	return CPUTimeOf(stat)
}

// CPUTimeOf returns the CPU time that a reading of /proc/stat holds.
func CPUTimeOf(stat procfs.Stat) CPUTime {
	c := stat.CPUTotal
	return CPUTime{
		Busy: c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ + c.Steal,
		Idle: c.Idle + c.Iowait,
		CPUs: len(stat.CPU),
	}
}

// BusySince returns the busy share of all CPUs since an earlier reading, 0 to 1.
func (t CPUTime) BusySince(earlier CPUTime) float64 {
	busy, idle := t.Busy-earlier.Busy, t.Idle-earlier.Idle
	if busy+idle <= 0 {
		return 0
	}
	return busy / (busy + idle)
}
