// Package lab starts the parts natively: one network namespace for the servers and
// one for the clients, joined by a shaped and an unshaped veth pair. Everything is in
// these two namespaces and in the lab's folder below /run, so labs of different names
// can run side by side. There are two exceptions: Prometheus' database and its port on
// the host's loopback, and the host's packet backlog, which is raised while a lab is up.
package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"piecebench/netem/client"
	"piecebench/servers"
)

// Addresses inside a lab, from the range that RFC 2544 sets aside for
// benchmarks. Namespaces are separate, so every lab uses the same ones.
const (
	shapedDevice  = "shaped0"
	controlDevice = "control0"

	clientShaped  = "198.18.0.1"
	serverShaped  = "198.18.0.2"
	clientControl = "198.18.1.1"
	serverControl = "198.18.1.2"
	shapedNetwork = "198.18.0.0/24"

	// The servers' ports are in their recipes.
	agentPort      = 9100
	prometheusPort = 9090 // on the clients' loopback
)

// Lab is a native lab, up or not.
type Lab struct{ Name string }

var labName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,19}$`)

// Named returns the lab of that name: lower-case letters, digits and '-'.
func Named(name string) (Lab, error) {
	if !labName.MatchString(name) {
		return Lab{}, fmt.Errorf("lab name %q: want lower-case letters, digits and '-', 20 at most", name)
	}
	return Lab{Name: name}, nil
}

// ServerNamespace and ClientNamespace are the names under /run/netns.
func (l Lab) ServerNamespace() string { return "piecebench-" + l.Name + "-server" }
func (l Lab) ClientNamespace() string { return "piecebench-" + l.Name + "-client" }

const runDir = "/run/piecebench"

// Dir is the lab's folder: its configuration, lock and its parts' logs.
func (l Lab) Dir() string { return filepath.Join(runDir, l.Name) }

// Environment returns what a runner must know of a lab, as environment variables:
// the URLs, and where the servers' logs are.
func (l Lab) Environment() []string {
	s, _ := l.State() // of a lab that is not whole: none
	prometheus := ""
	if s.PrometheusRuns {
		prometheus = fmt.Sprintf("http://127.0.0.1:%d", prometheusPort)
	}
	return []string{
		"LAB_TARGETS=" + TargetURLs(s.servers()),
		fmt.Sprintf("AGENT_URL=http://%s:%d", serverControl, agentPort),
		fmt.Sprintf("AGENT_SHAPED_URL=http://%s:%d", serverShaped, agentPort),
		"LAB_LOGS=" + l.Dir(),
		"PROMETHEUS_URL=" + prometheus,
	}
}

// TargetURLs returns what tells a runner of servers of the lab: name=URL,name=URL, twice
// for one that has objects too.
func TargetURLs(recipes []servers.Recipe) string {
	var urls []string
	for _, r := range recipes {
		urls = append(urls, r.Target+"="+r.URL(serverShaped))
		if objects := r.ObjectURL(serverShaped); objects != "" {
			urls = append(urls, r.Target+"="+objects)
		}
	}
	return strings.Join(urls, ",")
}

// AgentPorts returns the link agent's --ports for servers of the lab.
func AgentPorts(recipes []servers.Recipe) string {
	var ports []string
	for _, r := range recipes {
		port := strconv.Itoa(r.Port)
		if r.Processes != nil {
			port += "=" + strings.Join(r.Processes, "+")
		}
		ports = append(ports, port)
	}
	return strings.Join(ports, ",")
}

// Command returns argv as a command in the clients' namespace, with the lab's
// Environment added to this process's.
func (l Lab) Command(argv ...string) *exec.Cmd {
	cmd := exec.Command("ip", append([]string{"netns", "exec", l.ClientNamespace()}, argv...)...)
	cmd.Env = append(withoutToken(os.Environ()), l.Environment()...)
	return cmd
}

// withoutToken removes the token of another host's link agent. The lab's agent needs
// none: nobody outside of the lab reaches it.
func withoutToken(environment []string) []string {
	return slices.DeleteFunc(environment, func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return name == client.TokenVariable || name == client.TokenFileVariable
	})
}

// All returns every lab that exists, whole or not.
func All() ([]Lab, error) {
	entries, err := os.ReadDir(runDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var labs []Lab
	for _, e := range entries {
		if l := (Lab{e.Name()}); l.Exists() {
			labs = append(labs, l)
		}
	}
	return labs, err
}

// Exists says whether the lab, or a part of it, is there.
func (l Lab) Exists() bool {
	return namespaceExists(l.ServerNamespace()) || namespaceExists(l.ClientNamespace())
}

// namespaces is where iproute2 keeps the named network namespaces.
const namespaces = "/run/netns"

func namespaceExists(name string) bool {
	_, err := os.Stat(filepath.Join(namespaces, name))
	return err == nil
}
