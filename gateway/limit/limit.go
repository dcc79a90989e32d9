// Package limit keeps the gateway within the limits of its process.
package limit

import (
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// InFlight admits a number of requests at a time and refuses the rest. A client
// that is refused costs nothing. One that waits in a queue holds a connection and
// times out anyway.
type InFlight struct {
	max int64
	now atomic.Int64
}

// NewInFlight admits max requests at a time.
func NewInFlight(max int) *InFlight { return &InFlight{max: int64(max)} }

// Acquire admits a request, which must Release when it ends, or refuses it.
func (l *InFlight) Acquire() bool {
	if l.now.Add(1) > l.max {
		l.now.Add(-1)
		return false
	}
	return true
}

// Release ends a request that was admitted.
func (l *InFlight) Release() { l.now.Add(-1) }

// Now returns the number of requests admitted and not ended.
func (l *InFlight) Now() int64 { return l.now.Load() }

// Files divides the open files that this process may have.
type Files struct {
	InFlight    int // requests: one file each, beside their connection
	Connections int // all, idle ones too
}

// ownFiles are for the runtime, the log, the manifest and the listener.
const ownFiles = 64

// DivideFiles returns how many requests of the wanted ones the open-file limit
// allows (RLIMIT_NOFILE; Go raises the soft limit to the hard one at start),
// and how many connections are left beside them. So accepting connections can
// never leave a request without a file.
func DivideFiles(wantInFlight int) (Files, error) {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return Files{}, fmt.Errorf("reading the open-file limit: %w", err)
	}
	return divide(int64(min(r.Cur, 1<<30)), wantInFlight)
}

func divide(limit int64, wantInFlight int) (Files, error) {
	usable := int(limit) - ownFiles
	if usable < 2 {
		return Files{}, fmt.Errorf("an open-file limit of %d is too low: raise it, e.g. ulimit -n 16384", limit)
	}
	n := min(wantInFlight, usable/2)
	return Files{InFlight: n, Connections: usable - n}, nil
}
