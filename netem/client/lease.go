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

// keeper renews the lease of the link that its client has set last.
type keeper struct {
	length time.Duration
	mu     sync.Mutex
	id     string // of the lease; empty before the first link
}

// renewals is how often a lease is renewed in its length.
const renewals = 4

// releaseTimeout bounds what an agent that does not answer costs at the end: the
// lease then runs out by itself.
const releaseTimeout = 5 * time.Second

// Keep has every link that is set from now on last for as long as this process
// is heard of: the agent restores its device when it has heard nothing for
// length. The function that it returns ends that and has the device restored at
// once. Keep is called before any other method.
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
				// One that fails has three more to come; and who lost the link asks for it.
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

// renew has the lease that is kept last for a length from now on.
func (c *Client) renew(ctx context.Context, patience, length time.Duration) {
	c.keeper.mu.Lock()
	id := c.keeper.id
	c.keeper.mu.Unlock()
	if id == "" {
		return
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	var state State
	_ = c.do(ctx, http.MethodPut, "/lease", Renewal{id, length.Seconds()}, &state)
}

// lease is for how long to ask for a link, 0 for as long as it is not changed.
func (k *keeper) lease() time.Duration {
	if k == nil {
		return 0
	}
	return k.length
}

// hold takes over the lease of a link that was set.
func (k *keeper) hold(id string) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.id = id
}
