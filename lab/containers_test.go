package lab

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"piecebench/bench/settings"
	"piecebench/servers"
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
	for _, setting := range tcpSettings {
		name, value, _ := strings.Cut(setting, "=")
		want("\n  "+name+": "+value+"\n", "the native lab sets it")
	}
	want("ip route show "+shapedNetwork+") congctl "+congestionControl, "the native lab's servers run it")
	for _, v := range settings.Describe() {
		want("\n  "+v.Name+":", "a variable that does not reach the runner")
	}
	for device, addresses := range map[string][2]string{"shaped": {clientShaped, serverShaped}, "control": {clientControl, serverControl}} {
		for _, address := range addresses {
			want(device+": {ipv4_address: "+address+"}", "an address of the native lab")
		}
	}
	for _, variable := range (Lab{}).Environment() {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AGENT") {
			want(name+": "+value+"\n", "what the native lab tells the runner")
		}
	}
	want(fmt.Sprintf("http://127.0.0.1:%d/healthz", agentPort), "a port of the native lab")
	for _, r := range servers.All() {
		want("\n  - servers/"+r.Name+"/compose.yml\n", "a server of the native lab")
		if r.StubStatus != "" {
			want(fmt.Sprintf("http://127.0.0.1:%d%s", r.Port, r.StubStatus), "a status page of the native lab")
		}
		service, err := os.ReadFile("../servers/" + r.Name + "/compose.yml")
		if err != nil {
			t.Error(err)
		}
		for _, text := range []string{"\n  " + r.Name + ":\n", "  extends: {file: ../compose.yml, service: server}\n", fmt.Sprintf("http://127.0.0.1:%d/", r.Port)} {
			if !strings.Contains(string(service), text) {
				t.Errorf("servers/%s/compose.yml has no %q", r.Name, text)
			}
		}
	}
	// Each service has the environment that keeps Docker's proxies out.
	common, err := os.ReadFile("../servers/compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		if !strings.Contains(string(common), "\n      "+name+": \"\"\n") {
			t.Errorf("servers/compose.yml lets %s into the servers", name)
		}
		want("\n  "+name+": \"\"\n", "a proxy that Docker gives to every container")
	}
	want("\nx-confined: &confined\n  environment: *direct\n", "services without an environment of their own")
	for block := range strings.SplitSeq(string(data), "    environment:\n") {
		if first, _, _ := strings.Cut(block, "\n"); strings.HasPrefix(first, "      ") && first != "      <<: *direct" && first != "      <<: *variables" {
			t.Errorf("docker-compose.yml: an environment begins with %q, and not with *direct, so that Docker's proxies come in", first)
		}
	}
	want("\nx-variables: &variables\n  <<: *direct\n", "services with the variables of a run")
	want("retention.time="+retentionTime+"\n", "how long Prometheus keeps runs")
	want("retention.size="+retentionSize+"\n", "how much of them Prometheus keeps")
}
