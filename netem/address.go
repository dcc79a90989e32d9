package netem

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// deviceNamed returns the name of a device that is given by its name or by one of its
// addresses. A container can choose the addresses of its devices, but not their names.
func deviceNamed(nameOrAddress string) (string, error) {
	address, err := netip.ParseAddr(nameOrAddress)
	if err != nil {
		return nameOrAddress, nil
	}
	devices, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	for _, device := range devices {
		prefixes, err := device.Addrs()
		if err != nil {
			return "", fmt.Errorf("addresses of %s: %w", device.Name, err)
		}
		if slices.ContainsFunc(prefixes, func(p net.Addr) bool { return addressOf(p) == address.Unmap() }) {
			return device.Name, nil
		}
	}
	return "", fmt.Errorf("no device of this network namespace has the address %s: name one that has with --device (ip addr lists them)", address)
}
