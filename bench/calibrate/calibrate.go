// Package calibrate measures what a link really is before a cell relies on it,
// and refuses one that is not as asked.
package calibrate

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"piecebench/bench/result"
	"piecebench/netem/client"
	"piecebench/netem/link"
)

// Path is the way to the servers through one link agent.
type Path struct {
	Agent *client.Client // on the control network
	// Shaped is the agent's URL on the shaped network: what is fetched from
	// there comes through the link.
	Shaped string
}

// streamCounts are the flow counts that a capacity is measured with: a link can
// look perfect with 8 flows and lose half its rate with 128.
var streamCounts = []int{1, 8, 128}

// Ramp times are left out of a measurement: slow start over 40 ms takes half a
// second to fill 10 Gbit/s, and the losses that end it as long again.
const (
	unshapedRamp, unshapedWindow = 300 * time.Millisecond, time.Second
	throughRamp, throughWindow   = 2 * time.Second, 2 * time.Second
)

// The generator's ceiling is measured with so many clients, after a ramp, in so
// long a window: by the runner, as a cell is.
const (
	GeneratorClients = 8
	GeneratorRamp    = 500 * time.Millisecond
	GeneratorWindow  = 1500 * time.Millisecond
)

// Duration returns how long Link and Again take together for a link, where
// nothing needs to be measured more than once.
func Duration(spec link.Spec) time.Duration {
	through := throughRamp + throughWindow
	return time.Duration(len(streamCounts))*(unshapedRamp+unshapedWindow+through) + (connects+1)*spec.Delay + through
}

// capacityAttempts is how often a capacity is measured while it falls short and
// the CPUs do not explain it: a few flows that have just overrun the link's queue
// take seconds to come back, and that is TCP's doing, not the link's.
const capacityAttempts = 3

// blobBytes is more than any stream can fetch during a measurement.
const blobBytes = 1 << 40

// Link sets a link and measures it: the path's capacity unshaped, then the idle
// RTT and the capacity through the link. Progress gets a line a step. The
// error is a *Refusal if the link works but is not as asked.
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
	blob := path.Shaped + client.BlobPath(blobBytes)
	// enough ends the attempts with one number of streams.
	measure := func(what string, ramp, window time.Duration, enough func(result.StreamsCapacity) bool) ([]result.StreamsCapacity, error) {
		var measured []result.StreamsCapacity
		for _, streams := range streamCounts {
			var most result.StreamsCapacity
			for range capacityAttempts {
				progress(fmt.Sprintf("%s: %s with %d streams", spec, what, streams))
				m, err := download(ctx, blob, streams, ramp, window)
				if err != nil {
					return nil, err
				}
				if m.GoodputBits >= most.GoodputBits {
					most = m
				}
				if enough(m) {
					break
				}
			}
			measured = append(measured, most)
		}
		return measured, nil
	}
	once := func(result.StreamsCapacity) bool { return true }
	if _, err := path.Agent.SetLink(ctx, link.None); err != nil {
		return c, err
	}
	if c.Unshaped, err = measure("unshaped capacity", unshapedRamp, unshapedWindow, once); err != nil {
		return c, err
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
	asAsked := func(m result.StreamsCapacity) bool {
		return spec.RateBits == 0 || spec.Loss > 0 || share(m, &c) >= 1-rateTolerance || m.HostCPU >= cpuFull
	}
	if c.Through, err = measure("capacity through the link", throughRamp, throughWindow, asAsked); err != nil {
		return c, err
	}
	for _, m := range c.Through {
		c.CeilingBits = max(c.CeilingBits, m.GoodputBits)
	}
	state, err := path.Agent.Link(ctx)
	if err != nil {
		return c, err
	}
	c.Backend = state.Backend
	return c, judge(&c, spec, state.Stats)
}

// Check sets a link that was measured before, and measures of it what shows whether
// it is as asked now: the idle RTT, and the capacity with the number of streams that
// gave its ceiling, again while that is off: whatever else the machine does bends it
// either way. The error is a *Refusal if the link is not as asked.
func Check(ctx context.Context, path Path, spec link.Spec, before result.Calibration, progress func(step string)) (result.Calibration, error) {
	now := before
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
	best := ceilingIndex(before)
	var refusal error
	for range capacityAttempts {
		again, err := once(ctx, path, spec, before, progress)
		if err != nil {
			return now, err
		}
		state, err := path.Agent.Link(ctx)
		if err != nil {
			return now, err
		}
		now.IdleRTTMs, now.CeilingBits, now.Backend = milliseconds(rtt), again.GoodputBits, state.Backend
		now.Unshaped, now.Through = before.Unshaped[best:best+1], []result.StreamsCapacity{again}
		now.HostLimited, now.Notes = false, nil
		if refusal = judge(&now, spec, state.Stats); refusal == nil {
			break
		}
	}
	return now, refusal
}

// Again sets a link that was measured before and returns its capacity, in bits
// per second. While that is below its ceiling beyond the tolerance of drift, it is
// measured again.
func Again(ctx context.Context, path Path, spec link.Spec, before result.Calibration, progress func(step string)) (int64, error) {
	if _, err := path.Agent.SetLink(ctx, spec); err != nil {
		return 0, err
	}
	var most int64
	for range capacityAttempts {
		m, err := once(ctx, path, spec, before, progress)
		if err != nil {
			return 0, err
		}
		most = max(most, m.GoodputBits)
		if drift, _ := result.Drift(before.CeilingBits, most); drift >= -result.DriftTolerance {
			break
		}
	}
	return most, nil
}

// once measures a link that is set with the number of streams that gave its ceiling
// before.
func once(ctx context.Context, path Path, spec link.Spec, before result.Calibration, progress func(step string)) (result.StreamsCapacity, error) {
	streams := before.Through[ceilingIndex(before)].Streams
	progress(fmt.Sprintf("%s: capacity once more, with %d streams", spec, streams))
	return download(ctx, path.Shaped+client.BlobPath(blobBytes), streams, throughRamp, throughWindow)
}

// ceilingIndex returns which of a link's capacities is its ceiling.
func ceilingIndex(c result.Calibration) int {
	return slices.IndexFunc(c.Through, func(m result.StreamsCapacity) bool { return m.GoodputBits == c.CeilingBits })
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
