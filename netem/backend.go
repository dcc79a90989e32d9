package netem

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"piecebench/host"
	"piecebench/netem/client"
	"piecebench/netem/delayline"
	"piecebench/netem/link"
)

// A backend makes a link on one device. The agent calls one method at a time.
type backend interface {
	name() string
	// set changes the link to a valid spec and checks the result. The order of its
	// steps never shapes a packet less than both the old and the new link do.
	set(link.Spec) error
	// state reads the link back from the kernel.
	state() (client.State, error)
	// healthy returns an error when the link no longer carries traffic.
	healthy() error
	// restore undoes every change of this agent, and of a killed one before it.
	restore() error
}

// Auto lets the agent choose a backend.
const Auto = "auto"

// openBackend returns the requested backend, or the best one that works, and the
// reason. The device must be clean.
func openBackend(asked string, d *device) (backend, string, error) {
	switch asked {
	case Auto, client.Kernel, client.Userspace:
	default:
		return nil, "", fmt.Errorf("backend %q is not known: use %s, %s or %s", asked, Auto, client.Kernel, client.Userspace)
	}
	if err := d.probe("tbf", "rate", "1gbit", "burst", "128kb", "limit", "1mb"); err != nil {
		return nil, "", fmt.Errorf("this kernel cannot limit a rate: %w: %s", err, moduleFix("sch_tbf"))
	}
	reason := "asked for"
	if asked != client.Userspace {
		err := d.probe("netem", "limit", "1000")
		if err == nil {
			if asked == Auto {
				reason = "sch_netem works here"
			}
			return &kernel{device: d}, reason, nil
		}
		if asked == client.Kernel {
			return nil, "", fmt.Errorf("this kernel cannot delay packets: %w: %s, or use --backend userspace", err, moduleFix("sch_netem"))
		}
		fmt.Fprintln(d.log, "#", err)
		reason = "sch_netem does not work here; for the kernel backend: " + moduleFix("sch_netem")
	}
	tun, err := delayline.CreateTUN(tunName)
	if err != nil {
		return nil, "", fmt.Errorf("backend userspace: %w", err)
	}
	unix.Close(tun)
	return &userspace{device: d}, reason, nil
}

// probe adds a qdisc and removes it. This loads the module, or fails if the kernel
// lacks it. The qdisc does not affect packets.
func (d *device) probe(params ...string) error {
	if err := d.setQdisc([]string{"root"}, rootHandle, params); err != nil {
		return err
	}
	root, _, err := d.qdiscs()
	if err == nil && (root == nil || root.Kind != params[0]) {
		err = fmt.Errorf("tc accepts %s but does not show it", params[0])
	}
	return errors.Join(err, d.clearQdiscs())
}

// moduleFix names what to do about a missing kernel module.
func moduleFix(module string) string {
	osRelease, _ := os.ReadFile("/etc/os-release") // a minimal image has none
	var uts unix.Utsname
	_ = unix.Uname(&uts)
	return host.ModuleFix(module, string(osRelease), unix.ByteSliceToString(uts.Release[:]))
}
