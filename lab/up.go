package lab

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"piecebench/servers"
)

// Tools returns the programs that a lab needs besides piecebench's own, with the
// Debian package of each.
func Tools(recipes []servers.Recipe) map[string]string {
	tools := map[string]string{"ip": "iproute2", "tc": "iproute2", "sysctl": "procps", "setpriv": "util-linux"}
	for _, r := range recipes {
		maps.Copy(tools, r.Packages)
	}
	return tools
}

// CheckHost refuses a machine that cannot run a native lab with these servers, and
// names the fix.
func CheckHost(recipes []servers.Recipe) error {
	if os.Geteuid() != 0 {
		return errors.New("the native lab makes network namespaces and needs root: run it with sudo")
	}
	for tool, pkg := range Tools(recipes) {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is missing: install the package %s (scripts/setup does, for the servers that TARGETS names)", tool, pkg)
		}
	}
	return nil
}

// Up starts the lab, unless it is up with the same configuration. It first removes
// what a crash left of it. On an error nothing is left behind. A part that is
// missing, and that the lab does not need, is a line in warnings.
func (l Lab) Up(cfg Config, warnings io.Writer) (err error) {
	if err := errors.Join(CheckHost(cfg.servers()), cfg.check()); err != nil {
		return err
	}
	unlock, err := l.lock("lock")
	if err != nil {
		return err
	}
	defer unlock()
	if l.Exists() {
		running, err := l.State()
		if err == nil && l.whole(running) {
			if running.Config != cfg {
				return fmt.Errorf("lab %s is up with another configuration (%s): take it down first: piecebench lab down --name %s", l.Name, l.statePath(), l.Name)
			}
			return nil
		}
		if err := l.down(); err != nil {
			return err
		}
	}
	log, err := l.openLog(os.O_TRUNC)
	if err != nil {
		return err
	}
	defer log.Close()
	c := commands{log}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.remove(c))
		}
	}()
	if err := l.build(c); err != nil {
		return err
	}
	if err := raiseDescriptors(); err != nil {
		return fmt.Errorf("raising the limit of descriptors: %w", err)
	}
	parts, err := l.parts(cfg)
	if err != nil {
		return err
	}
	for i, r := range cfg.servers() {
		lock, err := l.makeFolders(cfg, r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
		if lock != nil {
			defer lock.Close()
			parts[i+1].files = []*os.File{lock} // the first part is the link agent
		}
	}
	for _, p := range parts {
		if err := l.start(c, p); err != nil {
			return err
		}
	}
	state := State{Config: cfg}
	if cfg.Prometheus.Port != 0 {
		if err := l.startPrometheus(c, &state); err != nil {
			fmt.Fprintln(warnings, "warning:", err)
		}
	}
	return l.saveState(state)
}

// Down removes the lab, whatever state it is in. It is no error if there is none.
func (l Lab) Down() error {
	if !l.Exists() {
		return nil
	}
	if os.Geteuid() != 0 {
		return errors.New("taking a lab down needs root: run it with sudo")
	}
	unlock, err := l.lock("lock")
	if err != nil {
		return err
	}
	defer unlock()
	return l.down()
}

func (l Lab) down() error {
	log, err := l.openLog(os.O_APPEND)
	if err != nil {
		return err
	}
	defer log.Close()
	return l.remove(commands{log})
}

// remove ends the processes first: a namespace lives on, nameless, as long as
// one of them is in it, and with the first namespace goes the other's device,
// which the link agent puts back as it was before it ends.
func (l Lab) remove(c commands) error {
	var there []string
	for _, ns := range []string{l.ClientNamespace(), l.ServerNamespace()} {
		if namespaceExists(ns) {
			there = append(there, ns)
		}
	}
	for _, ns := range there {
		if err := l.stop(c, ns); err != nil {
			return err
		}
	}
	for _, ns := range there {
		if err := c.run("ip", "netns", "del", ns); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(l.runDirs()); err != nil {
		return err
	}
	if err := os.Remove(l.statePath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return restorePacketBacklog(c)
}

// whole says whether everything that was brought up listens.
func (l Lab) whole(s State) bool {
	for _, p := range l.Status(s) {
		if !p.Listening {
			return false
		}
	}
	return true
}

// PartStatus is the state of one part of a lab.
type PartStatus struct {
	Name      string
	Port      int
	Listening bool
}

// Status returns the state of each part that was brought up.
func (l Lab) Status(s State) []PartStatus {
	parts, _ := l.parts(s.Config)
	if s.PrometheusRuns {
		parts = append(parts, part{name: "prometheus", namespace: l.ClientNamespace(), port: prometheusPort})
	}
	var states []PartStatus
	for _, p := range parts {
		states = append(states, PartStatus{p.name, p.port, p.listening()})
	}
	return states
}

// Claim keeps the lab for this process until release is called or the process
// ends. It refuses a lab that another process has claimed.
func (l Lab) Claim() (release func(), err error) { return l.lock("claim") }

// lock takes one of the lab's locks.
func (l Lab) lock(name string) (unlock func(), err error) {
	if err := os.MkdirAll(l.Dir(), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(l.Dir(), name), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("lab %s is in use by another process: wait for its end, or choose another --name", l.Name)
	}
	return func() { f.Close() }, nil
}

func (l Lab) openLog(mode int) (io.WriteCloser, error) {
	return os.OpenFile(filepath.Join(l.Dir(), "lab.log"), os.O_CREATE|os.O_WRONLY|mode, 0o644)
}
