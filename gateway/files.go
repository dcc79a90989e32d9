package gateway

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// files divides the open files that this process may have.
type files struct {
	inFlight    int // requests: one file each, beside their connection
	connections int // all, idle ones too
}

// ownFiles are for the runtime, the log, the manifest and the listener.
const ownFiles = 64

// divideFiles returns how many requests of the wanted ones the open-file limit
// allows (RLIMIT_NOFILE; Go raises the soft limit to the hard one at start),
// and how many connections are left beside them. So accepting connections can
// never leave a request without a file.
func divideFiles(wantInFlight int) (files, error) {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return files{}, fmt.Errorf("reading the open-file limit: %w", err)
	}
	return divide(int64(min(r.Cur, 1<<30)), wantInFlight)
}

func divide(limit int64, wantInFlight int) (files, error) {
	usable := int(limit) - ownFiles
	if usable < 2 {
		return files{}, fmt.Errorf("an open-file limit of %d is too low: raise it, e.g. ulimit -n 16384", limit)
	}
	n := min(wantInFlight, usable/2)
	return files{inFlight: n, connections: usable - n}, nil
}
