package main

import (
	"fmt"
	"os/exec"
	"syscall"
)

// The clients of the memory checks, and what k6 may hold with them, in MB of 1e6 bytes.
const (
	manyClients = 1000
	maxResident = 250
)

// peakMB is the most that cmd, which has ended, was resident with.
func peakMB(cmd *exec.Cmd) float64 {
	return float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) * 1024 / 1e6
}

// resident measures the peak of the resident memory with many clients. Of TLS,
// which holds some 40 KB a connection for its records, it only tells.
func (b *bench) resident() (ok bool, err error) {
	fmt.Printf("\n%d clients, 1 MiB ranges, MB resident at most:\n", manyClients)
	ok = true
	for _, t := range []task{{length: mib}, {length: mib, checked: true}, {length: mib, https: true}} {
		c, err := measure(b.retrievalCommand(t, manyClients, 2*b.duration, ""))
		if err != nil {
			return false, err
		}
		if t.https {
			fmt.Printf("%-14s %4.0f\n", t, c.peakMB)
			continue
		}
		fmt.Printf("%-14s %4.0f, %s\n", t, c.peakMB, verdict(c.peakMB, maxResident, "%.0f"))
		ok = ok && c.peakMB <= maxResident
	}
	return ok, nil
}
