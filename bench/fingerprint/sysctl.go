package fingerprint

import "strings"

// sysctls are settings that change the speed of a transfer. All of them can be read in a
// network namespace: either it has a value of its own, or it shows that of the host. The
// settings that the lab changes in its namespaces are among them.
// net.core.netdev_max_backlog is not, because it changes when a lab goes up or down.
var sysctls = []string{
	"net.core.default_qdisc",
	"net.core.netdev_budget",
	"net.core.rmem_max",
	"net.core.rps_default_mask",
	"net.core.somaxconn",
	"net.core.wmem_max",
	"net.ipv4.ip_local_port_range",
	"net.ipv4.tcp_autocorking",
	"net.ipv4.tcp_congestion_control",
	"net.ipv4.tcp_ecn",
	"net.ipv4.tcp_limit_output_bytes",
	"net.ipv4.tcp_max_syn_backlog",
	"net.ipv4.tcp_mem",
	"net.ipv4.tcp_moderate_rcvbuf",
	"net.ipv4.tcp_mtu_probing",
	"net.ipv4.tcp_no_metrics_save",
	"net.ipv4.tcp_notsent_lowat",
	"net.ipv4.tcp_rmem",
	"net.ipv4.tcp_sack",
	"net.ipv4.tcp_slow_start_after_idle",
	"net.ipv4.tcp_timestamps",
	"net.ipv4.tcp_tw_reuse",
	"net.ipv4.tcp_window_scaling",
	"net.ipv4.tcp_wmem",
	"vm.swappiness",
}

func (f facts) sysctls() {
	for _, name := range sysctls {
		f.set(name, f.read("proc/sys", strings.ReplaceAll(name, ".", "/")))
	}
}
