package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"piecebench/internal/wholefile"
	"piecebench/servers"
)

// Config is what a lab is brought up with. Paths are absolute.
type Config struct {
	Data    string `json:"data"`    // dataset folder, with pieces.json and flat/
	Bin     string `json:"bin"`     // folder of piece-gateway and netem-agent
	Servers string `json:"servers"` // folder of the servers' own folders
	Targets string `json:"targets"` // which of them are started, separated by commas; empty: none
	Store   string `json:"store"`   // the gateway's store: unsealed or flat
	Backend string `json:"backend"` // the link agent's: auto, kernel or userspace

	Prometheus Prometheus `json:"prometheus"`
}

// Prometheus collects a lab's metrics. A lab is whole without it:
// where it does not start there is a warning.
type Prometheus struct {
	Port int    `json:"port"` // on the host's 127.0.0.1; 0: the lab has none
	Conf string `json:"conf"` // dashboards/prometheus.yml
	Data string `json:"data"` // folder of its database, made if missing; outlives the lab
}

// State is what was started of a lab.
type State struct {
	Config
	PrometheusRuns bool   `json:"prometheus_runs"`
	PrometheusURL  string `json:"prometheus_url"` // as the host sees it
}

func (l Lab) statePath() string { return filepath.Join(l.Dir(), "lab.json") }

// State returns what was started.
func (l Lab) State() (State, error) {
	var s State
	data, err := os.ReadFile(l.statePath())
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	return s, err
}

func (l Lab) saveState(s State) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return wholefile.Write(l.statePath(), append(data, '\n'), 0o644)
}

// servers returns the recipes of the targets.
func (cfg Config) servers() []servers.Recipe {
	var recipes []servers.Recipe
	for target := range strings.SplitSeq(cfg.Targets, ",") {
		if r, ok := servers.Of(target); ok {
			recipes = append(recipes, r)
		}
	}
	return recipes
}

// check refuses a configuration whose files are not there.
func (cfg Config) check() error {
	needed := map[string]string{
		"dataset (make it with: piecebench dataset create)": filepath.Join(cfg.Data, "pieces.json"),
		"gateway binary (build it with: make build)":        cfg.gateway(),
		"link agent binary (build it with: make build)":     cfg.agent(),
	}
	for _, r := range cfg.servers() {
		folder := filepath.Join(cfg.Servers, r.Name)
		needed["folder of the server "+r.Name] = folder
		if r.Uses(servers.Python) && !samePackages(folder, r.PythonDir()) {
			return fmt.Errorf("the Python packages of %s (%s) are not in %s: install them with TARGETS=%s scripts/setup", r.Name, filepath.Join(folder, servers.Requirements), r.PythonDir(), r.Target)
		}
	}
	if cfg.Prometheus.Port != 0 {
		needed["prometheus configuration"] = cfg.Prometheus.Conf
		needed["forwarder binary (build it with: make build)"] = cfg.piecebench()
	}
	for what, path := range needed {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is missing: %s", what, path)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// samePackages says whether scripts/setup has installed what a server's folder asks for.
func samePackages(folder, installed string) bool {
	want, err := os.ReadFile(filepath.Join(folder, servers.Requirements))
	if err != nil {
		return false
	}
	has, err := os.ReadFile(filepath.Join(installed, servers.Requirements))
	return err == nil && bytes.Equal(want, has)
}

func (cfg Config) gateway() string    { return filepath.Join(cfg.Bin, "piece-gateway") }
func (cfg Config) agent() string      { return filepath.Join(cfg.Bin, "netem-agent") }
func (cfg Config) piecebench() string { return filepath.Join(cfg.Bin, "piecebench") }

// nobody and nogroup on Debian and its relatives.
const unprivilegedID = 65534

// unprivileged returns the user and group that a part runs as which needs these
// paths: nobody where nobody can reach them, else the data's owner (a checkout
// below /root, for one).
func (cfg Config) unprivileged(paths ...string) (uid, gid uint32, err error) {
	if !slices.ContainsFunc(paths, func(path string) bool { return !openToAll(path) }) {
		return unprivilegedID, unprivilegedID, nil
	}
	info, err := os.Stat(cfg.Data)
	if err != nil {
		return 0, 0, err
	}
	owner := info.Sys().(*syscall.Stat_t)
	return owner.Uid, owner.Gid, nil
}

// openToAll says whether others may enter (or execute) path and every folder above it.
func openToAll(path string) bool {
	for {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if path == filepath.Dir(path) {
			return true
		}
		path = filepath.Dir(path)
	}
}
