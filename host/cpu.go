// Package host reads what a measurement has to know of the machine: CPU time and
// limits, mounts, the page cache, listening sockets, and missing kernel modules.
package host

import (
	"github.com/prometheus/procfs"
)

// CPUTime is the time that all CPUs of this machine have spent, in seconds, and how
// many there are.
type CPUTime struct {
	Busy, Idle float64
	CPUs       int
}

// ReadCPU reads it from /proc/stat. It is zero where that cannot be read.
func ReadCPU() CPUTime {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return CPUTime{}
	}
	stat, err := fs.Stat()
	if err != nil {
		return CPUTime{}
	}
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
