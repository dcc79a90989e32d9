// Package listening reads which TCP sockets of a network namespace wait for
// connections.
package listening

import (
	"errors"
	"fmt"
	"io/fs"
	"net"

	"github.com/prometheus/procfs"
)

// Socket is one that waits for connections.
type Socket struct {
	Address net.IP // unspecified: any
	Port    int
	Inode   uint64 // by which the descriptors of its processes name it
}

// Sockets returns those of the namespace that a proc folder shows: /proc that of
// this process, /proc/PID another's.
func Sockets(proc procfs.FS) ([]Socket, error) {
	const listen = 10 // TCP_LISTEN, include/net/tcp_states.h
	var all []Socket
	// Netlink, which procfs recommends instead, answers for the own namespace only.
	//lint:ignore SA1019 /proc/PID/net shows another one
	for _, read := range []func() (procfs.NetTCP, error){proc.NetTCP, proc.NetTCP6} {
		sockets, err := read()
		if errors.Is(err, fs.ErrNotExist) { // no IPv6
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the listening sockets: %w", err)
		}
		for _, s := range sockets {
			if s.St == listen {
				all = append(all, Socket{s.LocalAddr, int(s.LocalPort), s.Inode})
			}
		}
	}
	return all, nil
}
