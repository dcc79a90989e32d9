// Package fingerprint describes the machine and the versions that a run was made with. Two
// runs must have the same fingerprint for their figures to be compared. It contains
// nothing that changes by itself, and no user names, host names, addresses or serial
// numbers.
package fingerprint

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/sysfs"

	"piecebench/servers"
)

// Parts are what a fingerprint describes in addition to the machine.
type Parts struct {
	K6       string           // path of the k6 binary; the lab's programs are in the same folder, if present
	Manifest string           // path of the dataset's pieces.json
	Script   string           // path of the user's own workload script; empty for those of piecebench
	Servers  []string         // URLs of the targets; Collect does not contact them
	Lab      []servers.Recipe // the targets that are servers of the lab
	Agent    string           // URL of the link agent on the shaped network; empty without an agent
}

// Collect returns the fingerprint. It must be called at the clients' end of the link.
// Values that cannot be read are left out.
func Collect(p Parts) map[string]string {
	f := facts{root: "/", values: map[string]string{}}
	f.machine()
	f.sysctls()
	f.network(p.Servers)
	if p.Agent != "" {
		f.congestionControl(p.Agent)
	}
	f.data(p.Manifest)
	f.set("workload", digest(filepath.Base(p.Script), p.Script))
	f.versions(p.K6, p.Lab)
	return f.values
}

// facts collect the values of a fingerprint.
type facts struct {
	root   string // the folder that contains proc and sys
	values map[string]string
}

// set adds a value, unless it is empty.
func (f facts) set(key, value string) {
	if value = strings.Join(strings.Fields(value), " "); value != "" {
		f.values[key] = value
	}
}

// read returns the text of a file below the root. It is empty if the file cannot be read.
func (f facts) read(path ...string) string {
	text, err := os.ReadFile(filepath.Join(append([]string{f.root}, path...)...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func (f facts) proc() (procfs.FS, error) { return procfs.NewFS(filepath.Join(f.root, "proc")) }
func (f facts) sys() (sysfs.FS, error)   { return sysfs.NewFS(filepath.Join(f.root, "sys")) }
