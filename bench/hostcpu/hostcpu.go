// Package hostcpu reads how busy this machine is.
package hostcpu

import (
	"github.com/prometheus/procfs"
)

// Time is the time that all CPUs of this machine have spent, in seconds, and how
// many there are.
type Time struct {
	Busy, Idle float64
	CPUs       int
}

// Read reads it from /proc/stat. It is zero where that cannot be read.
func Read() Time {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return Time{}
	}
	stat, err := fs.Stat()
	if err != nil {
		return Time{}
	}
	c := stat.CPUTotal
	return Time{
		Busy: c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ + c.Steal,
		Idle: c.Idle + c.Iowait,
		CPUs: len(stat.CPU),
	}
}

// BusySince returns the busy share of all CPUs since an earlier reading, 0 to 1.
func (t Time) BusySince(earlier Time) float64 {
	busy, idle := t.Busy-earlier.Busy, t.Idle-earlier.Idle
	if busy+idle <= 0 {
		return 0
	}
	return busy / (busy + idle)
}
