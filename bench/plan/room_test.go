package plan

import (
	"strings"
	"testing"

	"piecebench/bench/settings"
)

func TestMoreClientsThanPortsAreRefused(t *testing.T) {
	for _, v := range []struct {
		concurrency, ports string
		refused            bool
	}{
		{"28232", "32768\t60999\n", false},
		{"28233", "32768\t60999\n", true},
		{"50000", "1024 65535", false},
	} {
		s, err := settings.FromText(map[string]string{"CONCURRENCY": v.concurrency, "TARGETS": "mine=http://h/{piece}"})
		if err != nil {
			t.Fatal(err)
		}
		err = checkPorts(s, v.ports)
		if refused := err != nil; refused != v.refused || refused && !strings.Contains(err.Error(), "28232 (net.ipv4.ip_local_port_range)") {
			t.Errorf("CONCURRENCY=%s with ports %q: %v", v.concurrency, v.ports, err)
		}
	}
}
