package netem

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

// Restore undoes what a killed agent has left in this network namespace. Every
// command that changes something is written to log.
func Restore(log io.Writer) error {
	if err := checkEnvironment(); err != nil {
		return err
	}
	lock, err := takeNamespace()
	if err != nil {
		return err
	}
	defer lock.Close()
	return restoreLeft(commands{log})
}

// restoreLeft is Restore for the holder of the namespace's lock: what was left on any
// of its devices, and what belongs to none.
func restoreLeft(c commands) error {
	names, err := Left()
	if err != nil {
		return err
	}
	for _, name := range names {
		fmt.Fprintf(c.log, "# an agent was killed here: restoring what it changed on %s\n", name)
		d, err := openDevice(c, name)
		if err != nil {
			return err
		}
		if err := d.refuseForeign(); err != nil {
			return err
		}
		if err := (&userspace{device: d}).restore(); err != nil {
			return fmt.Errorf("clean up after an agent that was killed: %w", err)
		}
	}
	d := &device{commands: c}
	return errors.Join(d.removeDetour(), removeLossTable(d))
}

// Left returns the devices of this network namespace that an agent shapes, or that a
// killed agent left shaped.
func Left() ([]string, error) {
	var links []linkInfo
	if err := query(&links, "ip", "-j", "link", "show"); err != nil {
		return nil, err
	}
	var all []qdisc
	if err := query(&all, "tc", "-j", "qdisc", "show"); err != nil {
		return nil, err
	}
	rules, err := rules("-4")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, l := range links {
		shaped := func(q qdisc) bool { return q.Dev == l.Name && q.Root && q.ours() }
		detoured := func(r struct{ pref, protocol string }) bool {
			got := rules[r.pref]
			return got.Table == detourTable && got.Iif == l.Name
		}
		if strings.Contains(l.Alias, aliasMark) || slices.ContainsFunc(all, shaped) || slices.ContainsFunc(detourRules, detoured) {
			names = append(names, l.Name)
		}
	}
	return names, nil
}

// Running says whether an agent runs in this network namespace.
func Running() bool {
	lock, err := net.Listen("unix", lockName)
	if err != nil {
		return true
	}
	lock.Close()
	return false
}

// lockName is an abstract socket: it belongs to the network namespace, and goes
// with the process.
const lockName = "@piecebench-netem-agent"

// exitTime is how long the kernel may take to end an agent that was killed.
const exitTime = time.Second

// takeNamespace makes this process the network namespace's only agent.
func takeNamespace() (lock net.Listener, err error) {
	for deadline := time.Now().Add(exitTime); ; time.Sleep(10 * time.Millisecond) {
		lock, err = net.Listen("unix", lockName)
		if err == nil {
			return lock, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("another netem-agent runs in this network namespace (%w): stop it first", err)
		}
	}
}
