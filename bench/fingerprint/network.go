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

// deviceTowards returns the device through which the kernel would reach the host of a URL.
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

// offloads are the features that determine the number of packets per byte: their usual
// names, and the names that the kernel uses.
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
	// A device without a speed, such as lo, has -1 or nothing here.
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

// qdiscs returns the kinds of the qdiscs of a device, each once, starting with the root:
// "noqueue", "mq fq_codel". It asks the kernel, because an image may lack tc.
func qdiscs(device netlink.Link) string {
	list, err := netlink.QdiscList(device)
	if err != nil {
		return ""
	}
	slices.SortStableFunc(list, func(a, b netlink.Qdisc) int {
		return -cmp.Compare(a.Attrs().Parent, b.Attrs().Parent) // the root has the largest parent number
	})
	var kinds []string
	for _, q := range list {
		if !slices.Contains(kinds, q.Type()) {
			kinds = append(kinds, q.Type())
		}
	}
	return strings.Join(kinds, " ")
}
