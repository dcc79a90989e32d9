package fingerprint

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
)

// network describes the devices through which the servers are reached.
func (f facts) network(servers []string) {
	var devices []string
	for _, server := range servers {
		if device, err := deviceTowards(server); err == nil {
			devices = append(devices, f.device(device))
		}
	}
	slices.Sort(devices)
	f.set("network device", strings.Join(slices.Compact(devices), "; "))
}

// deviceTowards returns the device that the kernel would send through to reach
// a URL's host.
func deviceTowards(server string) (netlink.Link, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	addresses, err := net.LookupIP(u.Hostname())
	if err != nil {
		return nil, err
	}
	routes, err := netlink.RouteGet(addresses[0])
	if err != nil {
		return nil, err
	}
	return netlink.LinkByIndex(routes[0].LinkIndex)
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
func (f facts) device(device netlink.Link) string {
	name := device.Attrs().Name
	var parts []string
	tool, err := ethtool.NewEthtool()
	if err == nil {
		defer tool.Close()
		if driver, err := tool.DriverInfo(name); err == nil {
			parts = append(parts, driver.Driver)
		}
	}
	parts = append(parts, fmt.Sprint("MTU ", device.Attrs().MTU))
	// A device without a speed, such as lo, says -1 or nothing.
	if speed := f.read("sys/class/net", name, "speed"); speed != "" && speed[0] != '-' {
		parts = append(parts, speed+" Mbit/s")
	}
	if kinds := qdiscs(device); kinds != "" {
		parts = append(parts, "qdisc "+kinds)
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

// qdiscs returns the kinds of a device's qdiscs, each once, from the root on:
// "noqueue", "mq fq_codel". It asks the kernel, because an image need not have tc.
func qdiscs(device netlink.Link) string {
	list, err := netlink.QdiscList(device)
	if err != nil {
		return ""
	}
	slices.SortStableFunc(list, func(a, b netlink.Qdisc) int {
		return -cmp.Compare(a.Attrs().Parent, b.Attrs().Parent) // the root's is the largest
	})
	var kinds []string
	for _, q := range list {
		if !slices.Contains(kinds, q.Type()) {
			kinds = append(kinds, q.Type())
		}
	}
	return strings.Join(kinds, " ")
}
