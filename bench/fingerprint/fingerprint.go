// Package fingerprint says what machine and which versions a run was made with:
// what two runs must have in common for their figures to be compared, and
// nothing that changes by itself. It holds no user names, no host names, no
// addresses and no serial numbers.
package fingerprint

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/sysfs"

	"piecebench/servers"
)

// Parts are what a fingerprint describes beside the machine.
type Parts struct {
	K6       string           // path of the k6 binary; the lab's own programs are beside it, if they are here
	Manifest string           // path of the dataset's pieces.json
	Script   string           // path of a workload's script of one's own; empty of piecebench's
	Servers  []string         // URLs of what is measured; they are not contacted
	Lab      []servers.Recipe // those of them that are servers of the lab
	Agent    string           // URL of the link agent through the link; empty without one
}

// Collect returns the fingerprint as seen from the clients' end of the link,
// where it is called. What cannot be read is left out.
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

// facts are a fingerprint in the making.
type facts struct {
	root   string // holds proc and sys
	values map[string]string
}

// set takes a value, unless there is none.
func (f facts) set(key, value string) {
	if value = strings.Join(strings.Fields(value), " "); value != "" {
		f.values[key] = value
	}
}

// read returns the text of a file below the root, empty if there is none.
func (f facts) read(path ...string) string {
	text, err := os.ReadFile(filepath.Join(append([]string{f.root}, path...)...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func (f facts) proc() (procfs.FS, error) { return procfs.NewFS(filepath.Join(f.root, "proc")) }
func (f facts) sys() (sysfs.FS, error)   { return sysfs.NewFS(filepath.Join(f.root, "sys")) }
