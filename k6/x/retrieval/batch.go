package retrieval

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/grafana/sobek"
)

// maxParallel is the most requests of one batch that run at once.
const maxParallel = 1000

// pending is a batch of requests that run at once.
type pending struct {
	orders    []order
	parallel  int
	responses []*Response
	next      atomic.Int64
	done      chan struct{}
}

// batch sends requests and waits for their ends.
func (c *client) batch(ctx context.Context, call sobek.FunctionCall) (sobek.Value, error) {
	p, err := c.newBatch(call)
	if err != nil {
		return nil, err
	}
	c.launch(ctx, p, nil)
	return c.wait(ctx, p)
}

// start sends requests in the background. The handle that it returns waits for them.
// The iteration does not end before they do.
func (c *client) start(ctx context.Context, call sobek.FunctionCall) (sobek.Value, error) {
	p, err := c.newBatch(call)
	if err != nil {
		return nil, err
	}
	finished := c.vu.RegisterCallback()
	c.launch(ctx, p, func() { finished(func() error { return nil }) })

	var responses sobek.Value
	handle := c.vu.Runtime().NewObject()
	err = handle.Set("wait", c.bind("wait", func(ctx context.Context, _ sobek.FunctionCall) (_ sobek.Value, err error) {
		if responses == nil {
			responses, err = c.wait(ctx, p)
		}
		return responses, err
	}))
	return handle, err
}

// newBatch reads the requests and the options of a batch.
func (c *client) newBatch(call sobek.FunctionCall) (*pending, error) {
	var requests []sobek.Value
	list, ok := call.Argument(0).(*sobek.Object)
	if !ok || c.vu.Runtime().ExportTo(list, &requests) != nil {
		return nil, errors.New("the first argument is not an array of requests")
	}
	p := &pending{parallel: int(c.state.Options.BatchPerHost.Int64), done: make(chan struct{})}
	if p.parallel < 1 || p.parallel > maxParallel { // 0 is k6's "no limit"
		p.parallel = maxParallel
	}
	var defaults options
	if v := call.Argument(1); !sobek.IsUndefined(v) {
		of, err := c.properties(v, "the second argument", batchProperties...)
		if err != nil {
			return nil, err
		}
		if defaults, err = of.options(defaults); err != nil {
			return nil, err
		}
		if of.get("parallel") != nil {
			n, err := of.whole("parallel", 1, maxParallel)
			if err != nil {
				return nil, err
			}
			p.parallel = int(n)
		}
	}
	p.orders = make([]order, len(requests))
	for i, r := range requests {
		var err error
		if p.orders[i], err = c.parse(r, defaults); err != nil {
			return nil, fmt.Errorf("request %d: %w", i, err)
		}
	}
	p.responses = make([]*Response, len(requests))
	return p, nil
}

// launch has goroutines send the requests of p, and calls finished after the last.
func (c *client) launch(ctx context.Context, p *pending, finished func()) {
	c.awaitTurn(ctx)
	tags, j := c.state.Tags.GetCurrentValues(), c.job
	c.tags.Store(tags.Tags)
	end := func() {
		close(p.done)
		j.leave()
		if finished != nil {
			finished()
		}
	}
	j.join()
	workers := min(p.parallel, len(p.orders))
	if workers == 0 {
		end()
		return
	}
	var left atomic.Int64
	left.Store(int64(workers))
	for range workers {
		go func() {
			for i := p.next.Add(1) - 1; i < int64(len(p.orders)); i = p.next.Add(1) - 1 {
				p.responses[i] = c.fetch(ctx, tags, j, &p.orders[i])
			}
			if left.Add(-1) == 0 {
				end()
			}
		}()
	}
}

// wait returns the responses to p, once all are there. Requests end when ctx is done.
func (c *client) wait(ctx context.Context, p *pending) (sobek.Value, error) {
	<-p.done
	if c.over(ctx) {
		awaitEnd(ctx)
	}
	values := make([]any, len(p.responses))
	for i, r := range p.responses {
		values[i] = c.answer(r)
	}
	return c.vu.Runtime().NewArray(values...), nil
}
