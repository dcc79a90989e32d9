package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"piecebench/bench/fingerprint"
	"piecebench/bench/result"
	"piecebench/bench/settings"
)

// resume reads the run that is to be completed. It refuses a run that was made with
// other settings, another dataset, machine or version: one run is one comparison,
// and all its cells must have been able to come out the same. It is read under the
// lock: what another process saved until then is part of it.
func (r *sweep) resume(ctx context.Context) (unlock func(), err error) {
	unlock, err = result.Lock(r.options.Out)
	if err != nil {
		return nil, err
	}
	if err := r.readResumed(ctx); err != nil {
		unlock()
		return nil, err
	}
	r.session = "resumed-" + time.Now().UTC().Format("20060102T150405Z") + "-"
	return unlock, nil
}

// readResumed reads the run and compares what it was made with. It needs the lock.
func (r *sweep) readResumed(ctx context.Context) error {
	run, err := result.Load(r.options.Out)
	if err != nil {
		return err
	}
	now := fingerprint.Collect(r.parts())
	differing := slices.Concat(
		differences(settings.Measuring(run.Settings), settings.Measuring(r.settings.Text)),
		differences(run.Fingerprint, now),
	)
	var then, limits string
	if run.Capacity != nil {
		then = run.Capacity.Limits
	}
	if r.search != nil {
		limits = r.options.Capacity.Content
	}
	differing = append(differing, differences(map[string]string{"limits": then}, map[string]string{"limits": limits})...)
	backend, err := r.backend(ctx)
	if err != nil {
		return err
	}
	for _, c := range run.Calibrations {
		if backend != "" && c.Backend != "" && c.Backend != backend {
			differing = append(differing, fmt.Sprintf("delay of %s by: %s then, %s now", c.Link, c.Backend, backend))
		}
	}
	if len(differing) > 0 {
		return fmt.Errorf("run %s cannot be completed: what it was made with is not what is here (%s). "+
			"Give it the same settings, dataset, machine and versions, or leave out RESUME and measure again", r.options.Out, strings.Join(differing, "; "))
	}
	run.Finished = nil
	if r.search != nil { // the wanted number may be another
		run.Planned, run.Capacity = r.search.MostCells(), r.search.Capacity(run.Cells)
	}
	r.results = run
	return nil
}

// backend returns the link agent's, empty without one.
func (r *sweep) backend(ctx context.Context) (string, error) {
	if r.agent == nil {
		return "", nil
	}
	state, err := r.agent.Link(ctx)
	return state.Backend, err
}

// differences lists the names whose values were others then than they are now.
func differences(then, now map[string]string) []string {
	var list []string
	all := maps.Clone(now)
	maps.Copy(all, then)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if then[name] != now[name] {
			list = append(list, fmt.Sprintf("%s: %s then, %s now", name, quoted(then[name]), quoted(now[name])))
		}
	}
	return list
}

func quoted(value string) string {
	if value == "" {
		return "nothing known"
	}
	return fmt.Sprintf("%q", value)
}
