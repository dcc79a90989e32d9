package netem

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"piecebench/netem/client"
	"piecebench/netem/link"
)

// lease is the time after which a link ends unless its owner renews it. An owner that
// is gone must not leave a device shaped. A link without a lease stays until it is
// changed.
type lease struct {
	id     string
	length time.Duration
	until  time.Time
	timer  *time.Timer
}

// maxLease bounds what may be asked for.
const maxLease = 24 * time.Hour

var errLeaseGone = errors.New("this lease has ended: it expired and the device was restored, or somebody else set the link")

// lend replaces the lease by one of this length; 0 is none.
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

// Renew extends a lease to this length from now. 0 ends it and restores the device.
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

// restoreAgain is the time between attempts to restore a device.
const restoreAgain = time.Second

func (a *Agent) expire(l *lease) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lease != l || time.Now().Before(l.until) { // renewed while this waited for the lock
		return
	}
	fmt.Fprintf(a.device.log, "# the owner of the link has been silent for %v: restoring %s\n", l.length, a.device.iface)
	if err := a.release(); err != nil {
		fmt.Fprintf(a.device.log, "# %v: trying again in %v\n", err, restoreAgain)
		l.timer.Reset(restoreAgain)
	}
}

// release ends the lease: everything is as it was before the agent.
func (a *Agent) release() error {
	if err := a.backend.restore(); err != nil {
		return fmt.Errorf("restore %s: %w", a.device.iface, err)
	}
	a.spec = link.None
	a.lend(0)
	return nil
}
