package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Config is what a lab is brought up with. Paths are absolute.
type Config struct {
	Data      string `json:"data"`       // dataset folder, with pieces.json and flat/
	Bin       string `json:"bin"`        // folder of piece-gateway and netem-agent
	NginxConf string `json:"nginx_conf"` // nginx/nginx.conf
	Store     string `json:"store"`      // the gateway's store: unsealed or flat
	Backend   string `json:"backend"`    // the link agent's: auto, kernel or userspace
}

func (l Lab) configPath() string { return filepath.Join(l.Dir(), "lab.json") }

func (l Lab) loadConfig() (Config, error) {
	var cfg Config
	data, err := os.ReadFile(l.configPath())
	if err == nil {
		err = json.Unmarshal(data, &cfg)
	}
	return cfg, err
}

func (l Lab) saveConfig(cfg Config) error {
	data, err := json.MarshalIndent(cfg, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(l.configPath(), append(data, '\n'), 0o644)
}

// check refuses a configuration whose files are not there.
func (cfg Config) check() error {
	for what, path := range map[string]string{
		"dataset (make it with: piecebench dataset create)": filepath.Join(cfg.Data, "pieces.json"),
		"nginx configuration":                               cfg.NginxConf,
		"gateway binary (build it with: make build)":        cfg.gateway(),
		"link agent binary (build it with: make build)":     cfg.agent(),
	} {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is missing: %s", what, path)
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (cfg Config) gateway() string { return filepath.Join(cfg.Bin, "piece-gateway") }
func (cfg Config) agent() string   { return filepath.Join(cfg.Bin, "netem-agent") }

// nobody and nogroup on Debian and its relatives.
const unprivilegedID = 65534

// serverIDs returns the user and group that nginx's workers and the gateway run
// as: nobody where nobody can reach the data and the gateway's binary, else the
// data's owner (a checkout below /root, for one).
func (cfg Config) serverIDs() (uid, gid uint32, err error) {
	if openToAll(cfg.Data) && openToAll(cfg.gateway()) {
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
