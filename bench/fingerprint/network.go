package fingerprint

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/safchain/ethtool"
	"golang.org/x/sys/unix"
)

// network describes the devices through which the servers are reached.
func (f facts) network(servers []string) {
	var devices []string
	for _, server := range servers {
		if name, err := deviceTowards(server); err == nil && !slices.Contains(devices, name) {
			devices = append(devices, name)
		}
	}
	slices.Sort(devices)
	for i, name := range devices {
		devices[i] = f.device(name)
	}
	f.set("network device", strings.Join(devices, "; "))
}

// deviceTowards returns the device that the kernel would send through to reach
// a URL's host. Connecting a UDP socket chooses the route and sends nothing.
func deviceTowards(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	conn, err := net.Dial("udp", net.JoinHostPort(u.Hostname(), "9"))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	own := conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
	interfaces, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	for _, device := range interfaces {
		addresses, err := device.Addrs()
		if err != nil {
			return "", err
		}
		for _, address := range addresses {
			if prefix, err := netip.ParsePrefix(address.String()); err == nil && prefix.Addr().Unmap() == own {
				return device.Name, nil
			}
		}
	}
	return "", fmt.Errorf("no device has the address %s", own)
}

// offloads are those that decide how many packets a byte costs, by the names
// that people know and the kernel's.
var offloads = []struct{ name, feature string }{
	{"TSO", "tx-tcp-segmentation"},
	{"GSO", "tx-generic-segmentation"},
	{"GRO", "rx-gro"},
	{"LRO", "rx-lro"},
	{"checksums", "tx-checksum-ip-generic"},
}

// device describes a network device: "shaped0: veth, MTU 1500, 10000 Mbit/s,
// qdisc noqueue, TSO on, ...".
func (f facts) device(name string) string {
	var parts []string
	tool, err := ethtool.NewEthtool()
	if err == nil {
		defer tool.Close()
		if driver, err := tool.DriverInfo(name); err == nil {
			parts = append(parts, driver.Driver)
		}
	}
	if mtu := f.read("sys/class/net", name, "mtu"); mtu != "" {
		parts = append(parts, "MTU "+mtu)
	}
	// A device without a speed, such as lo, says -1 or nothing.
	if speed := f.read("sys/class/net", name, "speed"); speed != "" && speed[0] != '-' {
		parts = append(parts, speed+" Mbit/s")
	}
	if qdisc := rootQdisc(name); qdisc != "" {
		parts = append(parts, "qdisc "+qdisc)
	}
	if tool != nil {
		if features, err := tool.Features(name); err == nil {
			for _, o := range offloads {
				if on, known := features[o.feature]; known {
					parts = append(parts, o.name+map[bool]string{true: " on", false: " off"}[on])
				}
			}
		}
	}
	return name + ": " + strings.Join(parts, ", ")
}

// rootQdisc returns the kind of a device's root qdisc: fq_codel, noqueue, ...
// It asks the kernel, because an image need not have tc.
func rootQdisc(device string) string {
	table, err := syscall.NetlinkRIB(unix.RTM_GETLINK, unix.AF_UNSPEC)
	if err != nil {
		return ""
	}
	messages, err := syscall.ParseNetlinkMessage(table)
	if err != nil {
		return ""
	}
	for i := range messages {
		attributes, err := syscall.ParseNetlinkRouteAttr(&messages[i])
		if err != nil {
			continue
		}
		text := map[uint16]string{}
		for _, a := range attributes {
			text[a.Attr.Type] = strings.TrimRight(string(a.Value), "\x00")
		}
		if text[unix.IFLA_IFNAME] == device {
			return text[unix.IFLA_QDISC]
		}
	}
	return ""
}
