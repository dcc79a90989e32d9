package host

import (
	"errors"
	"fmt"
	"io/fs"
	"net"

	"github.com/prometheus/procfs"
)

// ListeningSocket is one that waits for connections.
type ListeningSocket struct {
	Address net.IP // unspecified: any
	Port    int
	Inode   uint64 // by which the descriptors of its processes name it
}

// ListeningSockets returns those of the namespace that a proc folder shows: /proc that of
// this process, /proc/PID another's.
func ListeningSockets(proc procfs.FS) ([]ListeningSocket, error) {
	const listen = 10 // TCP_LISTEN, include/net/tcp_states.h
	var all []ListeningSocket
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
				all = append(all, ListeningSocket{s.LocalAddr, int(s.LocalPort), s.Inode})
			}
		}
	}
	return all, nil
}
