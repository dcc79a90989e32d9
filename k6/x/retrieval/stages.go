package retrieval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/js/common"
	"golang.org/x/sys/unix"

	"piecebench/internal/plain"
	"piecebench/piece/verify"
)

// This file has the local work of stages.

// kept returns the response that a script gives back.
func kept(v sobek.Value) (*Response, error) {
	r, ok := v.Export().(*Response)
	switch {
	case !ok:
		return nil, errors.New("the first argument is not a response of get(), batch() or wait()")
	case r.kept == nil && r.Outcome == "ok":
		return nil, errors.New("the response has no body: ask for it with keep: true")
	}
	return r, nil
}

// verify compares a kept body with its piece. A wrong one fails the running job.
func (c *client) verify(_ context.Context, call sobek.FunctionCall) (sobek.Value, error) {
	r, err := kept(call.Argument(0))
	if err != nil {
		return nil, err
	}
	right := false
	if r.kept != nil {
		reference, err := c.cell.reference(r.source)
		if err != nil {
			return nil, err
		}
		_, wrong := reference.Range(r.source.request.Offset, r.source.request.Length).Write(r.kept)
		if right = wrong == nil; !right {
			c.job.fail("verify: " + wrong.Error())
		}
	}
	return c.vu.Runtime().ToValue(right), nil
}

// checkable refuses a request of which not every byte can be compared.
func (c *cell) checkable(o *order) error {
	if o.piece < 0 {
		return fmt.Errorf("object %s cannot be verified: only pieces have checksums", plain.Line(o.object))
	}
	p, from, to := c.manifest.Pieces[o.piece], o.request.Offset, o.request.Offset+o.request.Length
	block := p.CheckedBlock()
	on := func(at int64) bool { return at%block == 0 || at >= p.PayloadSize }
	if !on(from) || !on(to) {
		return fmt.Errorf("the range of %d bytes at %d cannot be verified: piece %s has checksums of blocks of %d bytes, so a range has to start and end on multiples of that",
			o.request.Length, from, p.CID, block)
	}
	return nil
}

// reference returns what a piece's bytes are compared with.
func (c *cell) reference(o *order) (*verify.Reference, error) {
	if err := c.checkable(o); err != nil {
		return nil, err
	}
	all, err := c.loadReferences()
	if err != nil {
		return nil, err
	}
	return all[o.piece], nil
}

// store appends a kept body to this client's file in the scratch folder.
func (c *client) store(_ context.Context, call sobek.FunctionCall) (sobek.Value, error) {
	r, err := kept(call.Argument(0))
	if err != nil {
		return nil, err
	}
	sync := false
	if v := call.Argument(1); !sobek.IsUndefined(v) {
		p, err := c.properties(v, "the second argument", "sync")
		if err != nil {
			return nil, err
		}
		if sync, err = p.flag("sync", false); err != nil {
			return nil, err
		}
	}
	if c.file == nil {
		if c.cell.opts.Scratch == "" {
			return nil, errors.New("the cell has no scratch folder")
		}
		name := filepath.Join(c.cell.opts.Scratch, fmt.Sprintf("client-%d", c.number))
		if c.file, err = os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			return nil, err
		}
	}
	n, err := c.file.Write(r.kept)
	if err == nil && sync {
		err = c.file.Sync()
	}
	return c.vu.Runtime().ToValue(n), err
}

// maxCompute is a day, in milliseconds.
const maxCompute = 24 * 60 * 60 * 1000

// compute uses a CPU for so many milliseconds of CPU time, or until the scenario ends.
func (i *instance) compute(call sobek.FunctionCall) sobek.Value {
	if i.vu.State() == nil {
		common.Throw(i.vu.Runtime(), errors.New("compute() can only be called in a scenario's function: not in the init context"))
	}
	ms := call.Argument(0).ToFloat()
	if !(ms >= 0 && ms <= maxCompute) {
		return abort(i.vu, fmt.Errorf("compute(%s): want a number of milliseconds from 0 to %d", plain.Line(call.Argument(0).String()), int64(maxCompute)))
	}
	burn(i.vu.Context(), time.Duration(ms*float64(time.Millisecond)))
	return sobek.Undefined()
}

// burn computes for d of this thread's CPU time, or until ctx is done.
func burn(ctx context.Context, d time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	x := uint64(1)
	for end := cpuTime() + d; cpuTime() < end && ctx.Err() == nil; {
		for range 20_000 { // some 20 us
			x = x*6364136223846793005 + 1442695040888963407
		}
	}
	runtime.KeepAlive(x)
}

// cpuTime returns the CPU time of the running thread.
func cpuTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // it cannot fail on Linux
	return time.Duration(t.Nano())
}
