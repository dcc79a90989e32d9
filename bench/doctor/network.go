package doctor

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"piecebench/bench/plan"
	"piecebench/host"
)

// ports checks those that the lab takes on the host's loopback.
func ports(h *Host) Finding {
	taken := map[int]string{}
	for port, variable := range map[int]string{h.PrometheusPort: "PROMETHEUS_PORT", h.GrafanaPort: "GRAFANA_PORT"} {
		if h.listening(port) {
			taken[port] = variable
		}
	}
	if h.native() {
		if _, yes := taken[h.PrometheusPort]; yes && h.PrometheusPort != 0 {
			return Finding{Severity: Note, Evidence: fmt.Sprintf("127.0.0.1:%d is taken: the lab's Prometheus takes another port, and says which", h.PrometheusPort),
				Fix: "make bench PROMETHEUS_PORT=<a free one>"}
		}
		return Finding{}
	}
	// Prometheus and Grafana stay up after a bench.
	own, _ := h.Run("docker", "ps", "--filter", ownContainers, "--format", "{{.Ports}}")
	for port, variable := range taken {
		if !strings.Contains(own, fmt.Sprintf(":%d->", port)) {
			return Finding{Severity: Blocks, Evidence: fmt.Sprintf("port %d of 127.0.0.1 is taken", port), Fix: fmt.Sprintf("make bench %s=<a free one>", variable)}
		}
	}
	return Finding{}
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

func addresses(h *Host) Finding {
	if h.native() {
		return Finding{}
	}
	proc, err := h.proc()
	if err != nil {
		return unknown(err)
	}
	routes, err := proc.NetRoute()
	if err != nil {
		return unknown(err)
	}
	own, _ := h.Run("docker", "network", "ls", "--filter", ownContainers, "--format", "br-{{.ID}}")
	for _, r := range routes {
		route := prefix(r.Destination, r.Mask)
		if route.Bits() == 0 || !route.Overlaps(labRange) || slices.Contains(strings.Fields(own), r.Iface) {
			continue
		}
		return Finding{Severity: Blocks, Evidence: fmt.Sprintf("the host has a route to %s over %s, and the lab's addresses are in %s", route, r.Iface, labRange),
			Fix: fmt.Sprintf("take %s down (a VPN?), or make bench RUNTIME=native", r.Iface)}
	}
	return Finding{}
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
func conntrack(h *Host) Finding {
	if h.native() || h.read("proc/sys/net/bridge/bridge-nf-call-iptables") != "1" {
		return Finding{}
	}
	const fix = "sudo sysctl -w net.bridge.bridge-nf-call-iptables=0"
	count, _ := strconv.Atoi(h.read("proc/sys/net/netfilter/nf_conntrack_count"))
	most, _ := strconv.Atoi(h.read("proc/sys/net/netfilter/nf_conntrack_max"))
	if free := most - count; most > 0 && free < 2*h.Settings.Clients() {
		return Finding{Severity: Distorts, Evidence: fmt.Sprintf("packets between containers pass the host's conntrack, which has room for %d more connections: further ones are dropped", free), Fix: fix}
	}
	return Finding{Severity: Note, Evidence: "packets between containers pass the host's netfilter rules, which costs CPU time for each", Fix: fix}
}

// descriptors checks that k6 and each server may hold the connections. Containers
// have the engine's limit.
func descriptors(h *Host) Finding {
	need := plan.Descriptors(h.Settings)
	if !h.native() || h.Descriptors >= need {
		return Finding{}
	}
	return Finding{Severity: Blocks, Evidence: fmt.Sprintf("a process may have %d descriptors (ulimit -Hn), and %d clients need %d", h.Descriptors, h.Settings.Clients(), need),
		Fix: fmt.Sprintf("sudo prlimit --pid $$ --nofile=%d", need)}
}

func labs(h *Host) Finding {
	there, err := h.Labs()
	if err != nil {
		return unknown(err)
	}
	if len(there) > 0 && h.UID != 0 {
		return Finding{Severity: Unknown, Evidence: "there are labs, and only root can see whether they are whole"}
	}
	var worst Finding
	for _, l := range there {
		f := Finding{Severity: Note, Evidence: fmt.Sprintf("lab %s is up", l.Name), Fix: "sudo make down"}
		if !l.Whole {
			f.Severity, f.Evidence = Distorts, fmt.Sprintf("lab %s is there in part, as a crash leaves it: what still runs of it takes its share", l.Name)
		}
		if f.Severity > worst.Severity {
			worst = f
		}
	}
	return worst
}

// linkAgent looks for a device of this host that a link agent shapes, or has left
// shaped. The lab's are in namespaces, and go with them.
func linkAgent(h *Host) Finding {
	if _, err := h.LookPath("tc"); err != nil {
		return Finding{} // then none was ever shaped, and the programs are another check
	}
	devices, running, err := h.Shaped()
	switch {
	case err != nil:
		return unknown(err)
	case len(devices) == 0:
		return Finding{}
	case running:
		return Finding{Severity: Note, Evidence: "a link agent shapes " + strings.Join(devices, ", ")}
	}
	return Finding{Severity: Distorts, Evidence: "a link agent was killed, and has left its link on " + strings.Join(devices, ", "),
		Fix: "sudo bin/netem-agent --restore"}
}
