package lab

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
)

// tcpSettings are set in both namespaces. The buffers hold twice the
// bandwidth-delay product of 10 Gbit/s and 40 ms (50 MB): with the default
// 6 MiB of tcp_rmem a single flow got 0.93 Gbit/s of that (docs/TUNING.md).
var tcpSettings = []string{
	"net.ipv4.tcp_rmem=4096 131072 134217728",
	"net.ipv4.tcp_wmem=4096 65536 134217728",
	// Else an old ssthresh leaks from one cell into the next.
	"net.ipv4.tcp_no_metrics_save=1",
	// A thousand clients start within a second.
	"net.core.somaxconn=65535",
	"net.ipv4.tcp_max_syn_backlog=65535",
	// CONNECTIONS=fresh uses a port a request.
	"net.ipv4.ip_local_port_range=1024 65535",
	"net.ipv4.tcp_tw_reuse=1",
}

// CongestionControl is the lab's, at both ends of the link, and what nearly
// every server on the internet runs; bbr without the fq qdisc paces each socket
// with timers (128 flows over 10 Gbit/s got 8.86 Gbit/s with it, 9.77 with cubic).
const CongestionControl = "cubic"

// build makes both namespaces and joins them.
func (l Lab) build(c commands) error {
	server, client := l.ServerNamespace(), l.ClientNamespace()
	for _, ns := range []string{server, client} {
		if err := c.run("ip", "netns", "add", ns); err != nil {
			return err
		}
		if err := c.run("ip", "-n", ns, "link", "set", "lo", "up"); err != nil {
			return err
		}
	}
	for _, pair := range []struct{ device, serverAddress, clientAddress string }{
		{shapedDevice, serverShaped, clientShaped},
		{controlDevice, serverControl, clientControl},
	} {
		for _, argv := range [][]string{
			{"link", "add", "name", pair.device, "netns", server, "type", "veth", "peer", "name", pair.device, "netns", client},
			{"-n", server, "addr", "add", pair.serverAddress + prefixLength, "dev", pair.device},
			{"-n", client, "addr", "add", pair.clientAddress + prefixLength, "dev", pair.device},
			{"-n", server, "link", "set", pair.device, "up"},
			{"-n", client, "link", "set", pair.device, "up"},
		} {
			if err := c.run(append([]string{"ip"}, argv...)...); err != nil {
				return err
			}
		}
	}
	for _, ns := range []string{server, client} {
		for _, setting := range tcpSettings {
			if err := c.in(ns, "sysctl", "-qw", setting); err != nil {
				return err
			}
		}
	}
	return l.setCongestionControl(c)
}

const allowedCongestionControl = "net.ipv4.tcp_allowed_congestion_control"

// setCongestionControl sets it in both namespaces. A namespace may only choose
// from what the host allows, so the host's list is widened for the moment of
// the choice, and put back. Labs that start at the same time do so one by one:
// each would put back the list of the other.
func (l Lab) setCongestionControl(c commands) (err error) {
	labs, err := os.Open(runDir)
	if err != nil {
		return err
	}
	defer labs.Close()
	if err := syscall.Flock(int(labs.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s, to choose the congestion control: %w", runDir, err)
	}
	data, err := os.ReadFile("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
	if err != nil {
		return err
	}
	allowed := strings.Fields(string(data))
	if !slices.Contains(allowed, CongestionControl) {
		before := strings.Join(allowed, " ")
		if err := c.run("sysctl", "-qw", allowedCongestionControl+"="+before+" "+CongestionControl); err != nil {
			return fmt.Errorf("the kernel has no %s congestion control: %w", CongestionControl, err)
		}
		defer func() {
			if restored := c.run("sysctl", "-qw", allowedCongestionControl+"="+before); err == nil {
				err = restored
			}
		}()
	}
	for _, ns := range []string{l.ServerNamespace(), l.ClientNamespace()} {
		if err := c.in(ns, "sysctl", "-qw", "net.ipv4.tcp_congestion_control="+CongestionControl); err != nil {
			return err
		}
	}
	return nil
}
