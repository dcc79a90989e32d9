package cell

import (
	"context"
	"fmt"
	"slices"
	"time"

	"piecebench/netem/client"
)

// stillLimit is how long a part of the measurement may stand still, be it stopped
// or starved, without the cell being refused. The generator gives a sign of life
// each second: 1.11 s apart at most in the sample, with 1000 clients on two CPUs
// that were full.
const stillLimit = 5 * time.Second

// begin looks at the server before the cell.
func (w *watch) begin(ctx context.Context) error {
	w.beaten = time.Now()
	if w.agent == nil {
		return nil
	}
	procs, err := w.agent.Procs(ctx)
	if err != nil {
		return err
	}
	server, err := w.server(procs)
	if server != nil {
		w.pids = server.PIDs
	}
	if err != nil {
		return err
	}
	w.before, err = readLink(ctx, w.agent)
	return err
}

// server returns the target's processes, nil where the agent cannot see them, and
// an error if they are not those of the cell's beginning or do not run: what clients
// got then is not the server's figure.
func (w *watch) server(procs client.Procs) (*client.Proc, error) {
	i := slices.IndexFunc(procs.Procs, func(p client.Proc) bool { return p.Port == w.port })
	if i < 0 {
		return nil, nil
	}
	p := &procs.Procs[i]
	switch {
	case p.Problem == client.NothingListens:
		return nil, fmt.Errorf("nothing listens on the server's port %d: the server has ended; look into its log", w.port)
	case p.Command == "":
		return nil, nil
	case p.Stopped:
		return nil, fmt.Errorf("the server on port %d (%s) is stopped: kill -CONT %v lets it go on", w.port, p.Command, p.PIDs)
	case w.pids != nil && !slices.Equal(p.PIDs, w.pids):
		return nil, fmt.Errorf("the server on port %d (%s) was started again or reloaded during the cell: its processes were %v and are %v", w.port, p.Command, w.pids, p.PIDs)
	}
	return p, nil
}

// beat is tick, and an error if the generator, the link agent, or this process
// itself stood still in the cell: then figures would be those of a machine in which
// somebody slept.
func (w *watch) beat(ctx context.Context) error {
	running := w.last.UnixNs != 0 && w.end == nil // not before clients start, and not once all is read
	began := time.Now()
	if still := began.Sub(w.beaten); running && still > stillLimit {
		return fmt.Errorf("the runner stood still for %.1f s: it was stopped, or this machine has no CPU left for it", still.Seconds())
	}
	err := w.tick(ctx)
	w.beaten = time.Now()
	switch took := w.beaten.Sub(began); {
	case err != nil:
		return err
	case running && took > stillLimit:
		return fmt.Errorf("the link agent took %.1f s to answer: it was stopped, or its machine has no CPU left for it", took.Seconds())
	case w.silence > stillLimit:
		return fmt.Errorf("the generator stood still for %.1f s: it was stopped, or this machine has no CPU left for it", w.silence.Seconds())
	}
	return nil
}
