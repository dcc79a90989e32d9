package lab

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"piecebench/bench/settings"
)

// TestContainersAreThisLab holds docker-compose.yml to what this package sets,
// so that both labs measure the same.
func TestContainersAreThisLab(t *testing.T) {
	data, err := os.ReadFile("../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	want := func(text, what string) {
		if !strings.Contains(string(data), text) {
			t.Errorf("docker-compose.yml has no %q: %s", text, what)
		}
	}
	for _, setting := range append(tcpSettings, "net.ipv4.tcp_congestion_control="+CongestionControl) {
		name, value, _ := strings.Cut(setting, "=")
		want("\n  "+name+": "+value+"\n", "the native lab sets it")
	}
	for _, v := range settings.Describe() {
		want("\n  "+v.Name+":", "a variable that does not reach the runner")
	}
	for device, addresses := range map[string][2]string{"shaped": {clientShaped, serverShaped}, "control": {clientControl, serverControl}} {
		for _, address := range addresses {
			want(device+": {ipv4_address: "+address+"}", "an address of the native lab")
		}
	}
	for _, variable := range (Lab{}).Environment() {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AGENT") || name == "LAB_TARGETS" {
			want(name+": "+value+"\n", "what the native lab tells the runner")
		}
	}
	for _, port := range []int{nginxPort, gatewayPort, agentPort} {
		want(fmt.Sprintf("http://127.0.0.1:%d/healthz", port), "a port of the native lab")
	}
	want("retention.time="+retentionTime+"\n", "how long Prometheus keeps runs")
	want("retention.size="+retentionSize+"\n", "how much of them Prometheus keeps")
}
