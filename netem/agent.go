// Package netem is the link agent: it makes the egress of a device a link of a
// given rate, delay and loss, and serves the API that sets and measures it.
package netem

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/netem/client"
	"piecebench/netem/delayline"
	"piecebench/netem/link"
)

// Agent owns the shaping of one device, in the network namespace of the process.
type Agent struct {
	mu      sync.Mutex
	device  *device
	backend backend
	reason  string
	spec    link.Spec
	lease   *lease // nil: the link stays until it is changed
	closed  bool
	lock    net.Listener
}

// Open takes over a device, given by its name or by one of its addresses. It removes
// what a killed agent has left, and chooses the backend. The link is then none. Every
// command that changes something is written to log.
func Open(deviceName, backendName string, log io.Writer) (*Agent, error) {
	if err := checkEnvironment(); err != nil {
		return nil, err
	}
	deviceName, err := deviceNamed(deviceName)
	if err != nil {
		return nil, err
	}
	lock, err := takeNamespace()
	if err != nil {
		return nil, err
	}
	a, err := open(deviceName, backendName, log)
	if err != nil {
		lock.Close()
		return nil, err
	}
	a.lock = lock
	return a, nil
}

func open(deviceName, backendName string, log io.Writer) (*Agent, error) {
	c := commands{log}
	d, err := openDevice(c, deviceName)
	if err != nil {
		return nil, err
	}
	if err := d.refuseForeign(); err != nil {
		return nil, err
	}
	if err := restoreLeft(c); err != nil {
		return nil, err
	}
	if d, err = openDevice(c, deviceName); err != nil { // as it is without what was left
		return nil, err
	}
	b, reason, err := openBackend(backendName, d)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(log, "# backend %s: %s\n", b.name(), reason)
	return &Agent{device: d, backend: b, reason: reason}, nil
}

func checkEnvironment() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&header, &caps[0]); err != nil {
		return fmt.Errorf("read this process's capabilities: %w", err)
	}
	if caps[0].Effective&(1<<unix.CAP_NET_ADMIN) == 0 {
		return errors.New("no CAP_NET_ADMIN: run as root (docker: --cap-add NET_ADMIN)")
	}
	for _, tool := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("no %s command: install iproute2", tool)
		}
	}
	return nil
}

// Set changes the link. It lasts until the next change or, with a lease that is not 0,
// until the lease expires. Set returns the link as the kernel reports it. If it fails,
// it tries to set the previous link again.
func (a *Agent) Set(spec link.Spec, lease time.Duration) (client.State, error) {
	spec.Delay = spec.Delay.Round(time.Microsecond)
	if err := spec.Validate(); err != nil {
		return client.State{}, badSettingError{err}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed { // a request that waited here while the agent ended
		return client.State{}, errors.New("the agent has ended")
	}
	if err := a.backend.set(spec); err != nil {
		err = fmt.Errorf("set link %s: %w", spec, err)
		if back := a.backend.set(a.spec); back != nil {
			err = fmt.Errorf("%w; and back to %s: %w", err, a.spec, back)
		}
		return client.State{}, err
	}
	a.spec = spec
	a.lend(lease)
	return a.state()
}

// State returns the link as the kernel reports it.
func (a *Agent) State() (client.State, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state()
}

func (a *Agent) state() (client.State, error) {
	state, err := a.backend.state()
	state.Backend, state.BackendReason, state.Device = a.backend.name(), a.reason, a.device.iface
	if a.lease != nil {
		state.Lease, state.LeaseS = a.lease.id, a.lease.length.Seconds()
	}
	return state, errors.Join(err, countTCP(&state.Stats))
}

// Healthy returns an error when the link no longer carries traffic.
func (a *Agent) Healthy() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.backend.healthy()
}

// Close undoes every change.
func (a *Agent) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.lend(0)
	return errors.Join(a.backend.restore(), a.lock.Close())
}

// badSettingError is a setting that is invalid on any machine.
type badSettingError struct{ error }

// lateness returns how late packets left the delay line, if there is one.
func (a *Agent) lateness() (delayline.Histogram, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if u, ok := a.backend.(*userspace); ok && u.line != nil {
		return u.line.Stats().Lateness, true
	}
	return delayline.Histogram{}, false
}
