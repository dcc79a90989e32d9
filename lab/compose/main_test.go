package compose_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"piecebench/internal/contained"
)

func TestMain(m *testing.M) { os.Exit(contained.Run(m.Run, restoreNetwork())) }

const (
	forwarding   = "/proc/sys/net/ipv4/ip_forward"
	engineBridge = "docker0"
)

// noRules are the tables that dockerd fills, as they are before it does.
var noRules = map[string]string{
	"*filter\n": "*filter\n:INPUT ACCEPT\n:FORWARD ACCEPT\n:OUTPUT ACCEPT\nCOMMIT\n",
	"*nat\n":    "*nat\n:PREROUTING ACCEPT\n:INPUT ACCEPT\n:OUTPUT ACCEPT\n:POSTROUTING ACCEPT\nCOMMIT\n",
}

// restoreNetwork returns what puts back what a dockerd that these tests start
// changes on the host and leaves changed: a bridge, firewall rules, forwarding.
// Where there is an engine already, they start none.
func restoreNetwork() func() {
	rules, err := exec.Command("iptables-save").Output()
	forward, _ := os.ReadFile(forwarding)
	if err != nil || hasBridge() {
		return func() {}
	}
	for table, empty := range noRules { // what has never been used is not in the list
		if !bytes.Contains(rules, []byte(table)) {
			rules = append(rules, empty...)
		}
	}
	return func() {
		if !hasBridge() {
			return
		}
		restore := exec.Command("iptables-restore")
		restore.Stdin = bytes.NewReader(rules)
		if out, err := restore.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "iptables-restore: %v: %s\n", err, out)
		}
		if err := os.WriteFile(forwarding, forward, 0); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		if out, err := exec.Command("ip", "link", "del", engineBridge).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "removing %s: %v: %s\n", engineBridge, err, out)
		}
	}
}

func hasBridge() bool {
	_, err := os.Stat("/sys/class/net/" + engineBridge)
	return err == nil
}
