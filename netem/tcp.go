package netem

import (
	"errors"
	"fmt"

	"github.com/prometheus/procfs"

	"piecebench/netem/client"
)

// countTCP reads the counters of TCP of the agent's network namespace, which is the
// servers'.
func countTCP(s *client.Stats) error {
	self, err := procfs.Self()
	if err != nil {
		return err
	}
	snmp, err := self.Snmp()
	if err != nil {
		return fmt.Errorf("read the counters of TCP: %w", err)
	}
	first, again := snmp.Tcp.OutSegs, snmp.Tcp.RetransSegs
	if first == nil || again == nil {
		return errors.New("read the counters of TCP: the kernel shows no OutSegs or RetransSegs")
	}
	// The kernel leaves segments that only repeat out of OutSegs.
	s.TCPSegments, s.TCPRetransmitted = int64(*first+*again), int64(*again)
	return nil
}
