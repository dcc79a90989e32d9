package plan

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"piecebench/bench/settings"
)

// Descriptors returns how many descriptors k6, and each server of a lab, may need for
// a sweep: two per client, and 100 for files, logs, listeners and the Go runtime. A
// client has a connection; a server also has a file open for it, and with
// CONNECTIONS=fresh the previous connection while it closes.
func Descriptors(s settings.Settings) uint64 { return uint64(2*s.Clients() + 100) }

// MostClients returns the most clients of a cell that this process may have descriptors for.
func MostClients() (int, error) {
	limit, err := mostDescriptors()
	return int(min(limit, 1<<30)-100) / 2, err
}

func mostDescriptors() (uint64, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("reading the limit of descriptors: %w", err)
	}
	return limit.Max, nil
}

// CheckDescriptors refuses a sweep that needs more descriptors than this process,
// and so all that it starts, may have.
func CheckDescriptors(s settings.Settings) error {
	limit, err := mostDescriptors()
	if err != nil {
		return err
	}
	if need := Descriptors(s); limit < need {
		return fmt.Errorf("CONCURRENCY=%s: %d clients need %d descriptors, and a process may have %d (ulimit -Hn): raise that with sudo prlimit --pid $$ --nofile=%d, or take fewer clients",
			s.Text["CONCURRENCY"], s.Clients(), need, limit, need)
	}
	return nil
}

const portRange = "net.ipv4.ip_local_port_range"

// CheckPorts refuses a sweep with more clients than this network namespace has
// ports for, where the clients run: each client has a connection to the target.
func CheckPorts(s settings.Settings) error {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return fmt.Errorf("reading %s: %w", portRange, err)
	}
	return checkPorts(s, string(text))
}

func checkPorts(s settings.Settings, text string) error {
	var first, last int
	if _, err := fmt.Sscan(text, &first, &last); err != nil {
		return fmt.Errorf("reading %s=%q: %w", portRange, text, err)
	}
	if ports := last - first + 1; ports < s.Clients() {
		return fmt.Errorf("CONCURRENCY=%s: %d clients need a port each, and there are %d (%s): sudo sysctl -w %s='1024 65535', or take fewer clients",
			s.Text["CONCURRENCY"], s.Clients(), ports, portRange, portRange)
	}
	return nil
}
