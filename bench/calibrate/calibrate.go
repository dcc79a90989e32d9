// Package calibrate measures a link before cells use it, and refuses a link that is not as
// requested.
package calibrate

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"
	"time"

	"piecebench/bench/result"
	"piecebench/netem/client"
	"piecebench/netem/link"
)

// Path is the path to the servers through one link agent.
type Path struct {
	Agent *client.Client // on the control network
	// Shaped is the URL of the agent on the shaped network: downloads from there pass
	// the link.
	Shaped string
}

// streamCounts are the numbers of streams with which a capacity is measured. A link can be
// perfect with 8 streams and lose half of its rate with 128.
var streamCounts = []int{1, 8, 128}

// phases are the times of a measurement: ramp is left out, window is measured.
type phases struct{ ramp, window time.Duration }

func (p phases) total() time.Duration { return p.ramp + p.window }

// Slow start over 40 ms takes half a second to fill 10 Gbit/s, and the losses that end it
// as long again. Tests shorten both.
var (
	unshaped = phases{ramp: 300 * time.Millisecond, window: time.Second}
	through  = phases{ramp: 2 * time.Second, window: 2 * time.Second}
)

// The runner measures the generator's ceiling as a cell, with this number of clients, this
// ramp and this window.
const (
	GeneratorClients = 8
	GeneratorRamp    = 500 * time.Millisecond
	GeneratorWindow  = 1500 * time.Millisecond
)

// Duration returns how long Link and Again take together for a link, if no measurement has
// to be repeated.
func Duration(spec link.Spec) time.Duration {
	return time.Duration(len(streamCounts))*(unshaped.total()+through.total()) + (connects+1)*spec.Delay + through.total()
}

// capacityAttempts is how often a capacity is measured at most, if it is off. It is too low
// if a few flows have just overrun the queue of the link: TCP then needs seconds to recover.
// It is too high if a busy machine delivers packets late, after the window has begun.
const capacityAttempts = 3

// blobBytes is more than a stream can download during a measurement.
const blobBytes = 1 << 40

// Link sets a link and measures it: first the capacity of the path without a link, then the
// idle RTT and the capacity through the link. It calls progress before each step. The error
// is a *Refusal if the link works but is not as requested.
func Link(ctx context.Context, path Path, spec link.Spec, progress func(step string)) (result.Calibration, error) {
	c := result.Calibration{
		Link:          spec.String(),
		AskedRateBits: spec.RateBits,
		AskedDelayMs:  milliseconds(spec.Delay),
		ExpectedBits:  int64(float64(spec.RateBits) * link.FullSizedShare * (1 - spec.Loss)),
	}
	shaped, err := url.Parse(path.Shaped)
	if err != nil {
		return c, err
	}
	if _, err := path.Agent.SetLink(ctx, link.None); err != nil {
		return c, err
	}
	for _, streams := range streamCounts {
		progress(fmt.Sprintf("%s: unshaped capacity with %d streams", spec, streams))
		m, err := path.download(ctx, streams, unshaped)
		if err != nil {
			return c, err
		}
		c.Unshaped = append(c.Unshaped, m)
	}
	if _, err := path.Agent.SetLink(ctx, spec); err != nil {
		return c, err
	}
	progress(fmt.Sprintf("%s: idle RTT", spec))
	rtt, err := idleRTT(ctx, shaped.Host, spec.Delay)
	if err != nil {
		return c, err
	}
	c.IdleRTTMs = milliseconds(rtt)
	for i, streams := range streamCounts {
		m, err := nearest(c.ExpectedBits, func() (result.StreamsCapacity, error) {
			progress(fmt.Sprintf("%s: capacity through the link with %d streams", spec, streams))
			return path.download(ctx, streams, through)
		}, func(m result.StreamsCapacity) bool { return asAsked(m, c.Unshaped[i], &c, spec) })
		if err != nil {
			return c, err
		}
		c.Through = append(c.Through, m)
		c.CeilingBits = max(c.CeilingBits, m.GoodputBits)
	}
	state, err := path.Agent.Link(ctx)
	if err != nil {
		return c, err
	}
	c.Backend = state.Backend
	return c, judge(&c, spec, state.Stats)
}

// Check sets a link that was measured before. It measures the idle RTT, and the capacity
// with the number of streams that gave its ceiling. The error is a *Refusal if the link is
// not as requested.
func Check(ctx context.Context, path Path, spec link.Spec, before result.Calibration, progress func(step string)) (result.Calibration, error) {
	now := before
	now.HostLimited, now.Notes = false, nil
	shaped, err := url.Parse(path.Shaped)
	if err != nil {
		return now, err
	}
	if _, err := path.Agent.SetLink(ctx, spec); err != nil {
		return now, err
	}
	progress(fmt.Sprintf("%s: idle RTT", spec))
	rtt, err := idleRTT(ctx, shaped.Host, spec.Delay)
	if err != nil {
		return now, err
	}
	now.IdleRTTMs = milliseconds(rtt)
	best := ceilingIndex(before)
	now.Unshaped = before.Unshaped[best : best+1]
	again, err := path.once(ctx, spec, before, now.ExpectedBits, progress,
		func(m result.StreamsCapacity) bool { return asAsked(m, now.Unshaped[0], &now, spec) })
	if err != nil {
		return now, err
	}
	now.CeilingBits, now.Through = again.GoodputBits, []result.StreamsCapacity{again}
	state, err := path.Agent.Link(ctx)
	if err != nil {
		return now, err
	}
	now.Backend = state.Backend
	return now, judge(&now, spec, state.Stats)
}

// Again sets a link that was measured before and returns its capacity, in bits per
// second.
func Again(ctx context.Context, path Path, spec link.Spec, before result.Calibration, progress func(step string)) (int64, error) {
	if _, err := path.Agent.SetLink(ctx, spec); err != nil {
		return 0, err
	}
	m, err := path.once(ctx, spec, before, before.CeilingBits, progress, func(m result.StreamsCapacity) bool {
		drift, _ := result.Drift(before.CeilingBits, m.GoodputBits)
		return math.Abs(drift) <= result.DriftTolerance
	})
	return m.GoodputBits, err
}

// once measures the present link with the number of streams that gave its ceiling before.
// It repeats the measurement as nearest does.
func (p Path) once(ctx context.Context, spec link.Spec, before result.Calibration, want int64, progress func(step string), enough func(result.StreamsCapacity) bool) (result.StreamsCapacity, error) {
	streams := before.Through[ceilingIndex(before)].Streams
	return nearest(want, func() (result.StreamsCapacity, error) {
		progress(fmt.Sprintf("%s: capacity once more, with %d streams", spec, streams))
		return p.download(ctx, streams, through)
	}, enough)
}

// nearest measures until enough returns true, at most capacityAttempts times. It returns the
// capacity that is nearest to the wanted one (in bits per second).
func nearest(want int64, measure func() (result.StreamsCapacity, error), enough func(result.StreamsCapacity) bool) (best result.StreamsCapacity, err error) {
	off := func(m result.StreamsCapacity) float64 { return math.Abs(float64(m.GoodputBits - want)) }
	for attempt := range capacityAttempts {
		m, err := measure()
		if err != nil {
			return best, err
		}
		if attempt == 0 || off(m) < off(best) {
			best = m
		}
		if enough(m) {
			return m, nil
		}
	}
	return best, nil
}

// download measures the capacity of the path with its present link.
func (p Path) download(ctx context.Context, streams int, times phases) (result.StreamsCapacity, error) {
	return download(ctx, p.Shaped+client.BlobPath(blobBytes), streams, times)
}

// ceilingIndex returns the index of the capacity that is the ceiling of a link.
func ceilingIndex(c result.Calibration) int {
	return slices.IndexFunc(c.Through, func(m result.StreamsCapacity) bool { return m.GoodputBits == c.CeilingBits })
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
