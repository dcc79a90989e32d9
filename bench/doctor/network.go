package doctor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"piecebench/bench/plan"
	"piecebench/host"
)

// nativePorts checks those that the lab takes on the host's loopback.
func nativePorts(h *Host) (Finding, error) {
	if h.PrometheusPort == 0 || !h.listening(h.PrometheusPort) {
		return clean, nil
	}
	return note("make bench PROMETHEUS_PORT=<a free one>", "127.0.0.1:%d is taken: the lab's Prometheus takes another port, and says which", h.PrometheusPort)
}

// containerPorts leaves out what is ours: Prometheus and Grafana stay up after a bench.
func containerPorts(h *Host) (Finding, error) {
	own, _ := h.Run("docker", "ps", "--filter", ownContainers, "--format", "{{.Ports}}")
	for port, variable := range map[int]string{h.PrometheusPort: "PROMETHEUS_PORT", h.GrafanaPort: "GRAFANA_PORT"} {
		if h.listening(port) && !strings.Contains(own, fmt.Sprintf(":%d->", port)) {
			return blocks(fmt.Sprintf("make bench %s=<a free one>", variable), "port %d of 127.0.0.1 is taken", port)
		}
	}
	return clean, nil
}

// listening says whether a connection to a port of 127.0.0.1 would find anybody.
func (h *Host) listening(port int) bool {
	proc, err := h.proc()
	if err != nil {
		return false
	}
	sockets, _ := host.ListeningSockets(proc)
	return slices.ContainsFunc(sockets, func(s host.ListeningSocket) bool {
		return s.Port == port && (s.Address.IsUnspecified() || s.Address.IsLoopback())
	})
}

// ownContainers selects what docker-compose.yml made, by the project's name there.
const ownContainers = "label=com.docker.compose.project=piecebench"

// labRange is where the lab's addresses are (RFC 2544). A native lab has them in
// namespaces of its own; containers need routes on the host.
var labRange = netip.MustParsePrefix("198.18.0.0/15")

func addresses(h *Host) (Finding, error) {
	proc, err := h.proc()
	if err != nil {
		return clean, err
	}
	routes, err := proc.NetRoute()
	if err != nil {
		return clean, err
	}
	own, _ := h.Run("docker", "network", "ls", "--filter", ownContainers, "--format", "br-{{.ID}}")
	for _, r := range routes {
		route := prefix(r.Destination, r.Mask)
		if route.Bits() == 0 || !route.Overlaps(labRange) || slices.Contains(strings.Fields(own), r.Iface) {
			continue
		}
		return blocks(fmt.Sprintf("take %s down (a VPN?), or make bench RUNTIME=native", r.Iface), "the host has a route to %s over %s, and the lab's addresses are in %s", route, r.Iface, labRange)
	}
	return clean, nil
}

// prefix reads a route as /proc/net/route has it: addresses in network order,
// printed as if they were numbers of this machine.
func prefix(destination, mask uint32) netip.Prefix {
	var address [4]byte
	binary.NativeEndian.PutUint32(address[:], destination)
	return netip.PrefixFrom(netip.AddrFrom4(address), bits.OnesCount32(mask))
}

// conntrack checks whether the packets between containers pass the host's. A
// native lab's namespaces have no rules, and so track nothing.
func conntrack(h *Host) (Finding, error) {
	if h.read("proc/sys/net/bridge/bridge-nf-call-iptables") != "1" {
		return clean, nil
	}
	const fix = "sudo sysctl -w net.bridge.bridge-nf-call-iptables=0"
	count, _ := strconv.Atoi(h.read("proc/sys/net/netfilter/nf_conntrack_count"))
	most, _ := strconv.Atoi(h.read("proc/sys/net/netfilter/nf_conntrack_max"))
	if free := most - count; most > 0 && free < 2*h.Settings.Clients() {
		return distorts(fix, "packets between containers pass the host's conntrack, which has room for %d more connections: further ones are dropped", free)
	}
	return note(fix, "packets between containers pass the host's netfilter rules, which costs CPU time for each")
}

// packetBacklog checks how many packets a CPU of the host may hold between two network
// devices.
func packetBacklog(h *Host) (Finding, error) {
	has, _ := strconv.Atoi(h.read("proc/sys/net/core/netdev_max_backlog"))
	need := min(100*h.Settings.Clients(), 100_000)
	if has == 0 || has >= need {
		return clean, nil
	}
	return Finding{Severity: Distorts, Evidence: fmt.Sprintf("the host drops packets between containers when a CPU holds more than %d, and %d clients need about %d", has, h.Settings.Clients(), need),
		Fix: fmt.Sprintf("sudo sysctl -w net.core.netdev_max_backlog=%d", need)}, nil
}

// descriptors checks that k6 and each server may hold the connections. Containers
// have the engine's limit.
func descriptors(h *Host) (Finding, error) {
	need := plan.Descriptors(h.Settings)
	if h.Descriptors >= need {
		return clean, nil
	}
	return blocks(fmt.Sprintf("sudo prlimit --pid $$ --nofile=%d", need), "a process may have %d descriptors (ulimit -Hn), and %d clients need %d", h.Descriptors, h.Settings.Clients(), need)
}

func nativeLabs(h *Host) (Finding, error) {
	there, err := h.Labs()
	if err != nil {
		return clean, err
	}
	if len(there) > 0 && h.UID != 0 {
		return clean, errors.New("there are labs, and only root can see whether they are whole")
	}
	for _, l := range there {
		if !l.Whole {
			return distorts("sudo make down", "lab %s is there in part, as a crash leaves it: what still runs of it takes its share", l.Name)
		}
	}
	if len(there) > 0 {
		return note("sudo make down", "lab %s is up", there[0].Name)
	}
	return clean, nil
}

// linkAgent looks for a device of this host that a link agent shapes, or has left
// shaped. The lab's are in namespaces, and go with them.
func linkAgent(h *Host) (Finding, error) {
	if _, err := h.LookPath("tc"); err != nil {
		return clean, nil // then none was ever shaped, and the programs are another check
	}
	devices, running, err := h.Shaped()
	switch {
	case err != nil:
		return clean, err
	case len(devices) == 0:
		return clean, nil
	case running:
		return note("", "%s", "a link agent shapes "+strings.Join(devices, ", "))
	}
	return distorts("sudo bin/netem-agent --restore", "%s", "a link agent was killed, and has left its link on "+strings.Join(devices, ", "))
}
