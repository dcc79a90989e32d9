package client

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Renewal is the body of PUT /lease.
type Renewal struct {
	Lease  string  `json:"lease"`
	LeaseS float64 `json:"lease_s"` // from now on, in seconds; 0 ends the lease
}

// keeper renews the lease of the link that its client set last.
type keeper struct {
	length time.Duration
	mu     sync.Mutex
	id     string // of the lease; empty before the first link
}

// renewals is how many times a lease is renewed within its length.
const renewals = 4

// releaseTimeout limits the wait for an agent that does not answer at the end. The
// lease then expires by itself.
const releaseTimeout = 5 * time.Second

// Keep gives every link that is set from now on a lease of this length, and renews it
// as long as this process runs. Without a renewal the agent restores its device. The
// returned function ends the lease, which restores the device at once. Call Keep before
// any other method.
func (c *Client) Keep(length time.Duration) (release func()) {
	k := &keeper{length: length}
	c.keeper = k
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(length / renewals)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				// Three more renewals follow one that fails. A lost link is detected by
				// reading it.
				c.renew(ctx, length/renewals, length)
			}
		}
	}()
	return func() {
		stop()
		<-ended
		c.renew(context.Background(), releaseTimeout, 0)
	}
}

// renew extends the lease to this length from now.
func (c *Client) renew(ctx context.Context, patience, length time.Duration) {
	c.keeper.mu.Lock()
	id := c.keeper.id
	c.keeper.mu.Unlock()
	if id == "" {
		return
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	_, _ = do[State](ctx, c, http.MethodPut, "/lease", Renewal{id, length.Seconds()})
}

// lease is the length of the lease to request, 0 for a link that stays.
func (k *keeper) lease() time.Duration {
	if k == nil {
		return 0
	}
	return k.length
}

// hold stores the lease of a link that was set.
func (k *keeper) hold(id string) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.id = id
}
