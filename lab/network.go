package lab

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

// congestionControl is the lab's, and what nearly every server on the internet runs.
// bbr without the fq qdisc paces each socket with timers: 128 flows over 10 Gbit/s
// got 8.86 Gbit/s with it, 9.77 with cubic. It is a property of the route: a
// namespace's own sysctl takes only what the host allows.
const congestionControl = "cubic"

// build makes both namespaces and joins them.
func (l Lab) build(c commands) error {
	ends := []struct{ namespace, shaped, control string }{
		{l.ServerNamespace(), serverShaped, serverControl},
		{l.ClientNamespace(), clientShaped, clientControl},
	}
	var argvs [][]string
	ip := func(argv ...string) { argvs = append(argvs, append([]string{"ip"}, argv...)) }
	for _, end := range ends {
		ip("netns", "add", end.namespace)
		ip("-n", end.namespace, "link", "set", "lo", "up")
	}
	for _, device := range []string{shapedDevice, controlDevice} {
		ip("link", "add", "name", device, "netns", ends[0].namespace, "type", "veth", "peer", "name", device, "netns", ends[1].namespace)
	}
	for _, end := range ends {
		for device, address := range map[string]string{shapedDevice: end.shaped, controlDevice: end.control} {
			ip("-n", end.namespace, "addr", "add", address+"/24", "dev", device)
			ip("-n", end.namespace, "link", "set", device, "up")
		}
		ip("-n", end.namespace, "route", "change", shapedNetwork, "dev", shapedDevice, "src", end.shaped, "congctl", congestionControl)
		for _, setting := range tcpSettings {
			ip("netns", "exec", end.namespace, "sysctl", "-qw", setting)
		}
	}
	for _, argv := range argvs {
		if err := c.run(argv...); err != nil {
			return err
		}
	}
	return raisePacketBacklog(c)
}
