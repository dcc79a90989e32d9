package retrieval

import (
	"time"

	"piecebench/records"
)

// timeline sums up how long each stage of a job ran, and how long inside the window.
// Nothing counts after the window's end.
type timeline struct {
	start, end time.Time // of the window; a zero end is none
	at         time.Time // what the sums are up to
	stages     []stage   // in the order in which they first began
	overlap    int64     // records.Job.OverlapWindowNs
}

type stage struct {
	records.Stage
	running int // how many of it run now
}

// inside returns how much of the time from one moment to another is in the window.
func (t *timeline) inside(from, to time.Time) time.Duration {
	if from.Before(t.start) {
		from = t.start
	}
	return max(t.clip(to).Sub(from), 0)
}

// clip returns a moment, or the window's end if that comes before.
func (t *timeline) clip(moment time.Time) time.Time {
	if !t.end.IsZero() && moment.After(t.end) {
		return t.end
	}
	return moment
}

// advance counts the time up to now.
func (t *timeline) advance(now time.Time) {
	now = t.clip(now)
	if !now.After(t.at) {
		return
	}
	ns, inside := int64(now.Sub(t.at)), int64(t.inside(t.at, now))
	var busy int64
	for i := range t.stages {
		if s := &t.stages[i]; s.running > 0 {
			s.Ns += ns
			s.WindowNs += inside
			busy++
		}
	}
	t.overlap += max(busy-1, 0) * inside
	t.at = now
}

// change counts one more of a stage as running, or one less.
func (t *timeline) change(name string, by int, now time.Time) {
	t.advance(now)
	for i := range t.stages {
		if t.stages[i].Name == name {
			t.stages[i].running += by
			return
		}
	}
	t.stages = append(t.stages, stage{Stage: records.Stage{Name: name}, running: by})
}
