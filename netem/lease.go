package netem

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"piecebench/netem/client"
	"piecebench/netem/link"
)

// lease is the time for which a link is set, unless who set it is heard of
// again: one who is gone must not leave a device shaped. A link without a lease
// stays until it is changed.
type lease struct {
	id     string
	length time.Duration
	until  time.Time
	timer  *time.Timer
}

// maxLease bounds what may be asked for.
const maxLease = 24 * time.Hour

var errLeaseGone = errors.New("this lease is no more: it ran out and the device was put back, or the link was set by somebody else")

// lend makes a lease of a length the only one; 0 is none.
func (a *Agent) lend(length time.Duration) {
	if a.lease != nil {
		a.lease.timer.Stop()
		a.lease = nil
	}
	if length == 0 {
		return
	}
	l := &lease{id: rand.Text(), length: length, until: time.Now().Add(length)}
	l.timer = time.AfterFunc(length, func() { a.expire(l) })
	a.lease = l
}

// Renew has a lease last for a length from now on; 0 ends it, and the device is
// put back as it was.
func (a *Agent) Renew(id string, length time.Duration) (client.State, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.lease
	if l == nil || l.id != id {
		return client.State{}, errLeaseGone
	}
	if length == 0 {
		if err := a.release(); err != nil {
			return client.State{}, err
		}
		return a.state()
	}
	l.length, l.until = length, time.Now().Add(length)
	l.timer.Reset(length)
	return a.state()
}

// restoreAgain is after how long a device that could not be put back is tried again.
const restoreAgain = time.Second

func (a *Agent) expire(l *lease) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lease != l || time.Now().Before(l.until) { // renewed while this waited
		return
	}
	fmt.Fprintf(a.device.log, "# who set the link has been silent for %v: putting %s back as it was\n", l.length, a.device.iface)
	if err := a.release(); err != nil {
		fmt.Fprintf(a.device.log, "# %v: trying again in %v\n", err, restoreAgain)
		l.timer.Reset(restoreAgain)
	}
}

// release ends the lease: everything is as it was before the agent.
func (a *Agent) release() error {
	if err := a.backend.restore(); err != nil {
		return fmt.Errorf("put %s back: %w", a.device.iface, err)
	}
	a.spec = link.None
	a.lend(0)
	return nil
}
