package cell

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"piecebench/bench/result"
	"piecebench/host"
	"piecebench/netem/client"
	"piecebench/records"
)

// watch reads what a cell costs, at the start and at the end of its window, and
// what the servers' TCP says in between.
type watch struct {
	agent *client.Client // nil: no figures of the server
	k6    *process
	port  int  // that the server listens on
	whole bool // the window begins with the first request and ends with the last

	pids       []int       // of the server, before the cell; nil where the agent sees none
	before     linkReading // before the cell
	start, end *reading
	last       records.Progress // zero before the first
	silence    time.Duration    // longest without a line, until the first after the window
	beaten     time.Time        // when beat returned last
	series     []result.SeriesPoint
	sampled    time.Time // when sockets were read last
	sockets    client.Sockets
	seen       int     // connections in all samples
	waiting    int     // of these
	oldestMs   float64 // the longest wait for an acknowledgement
	stalled    int     // the most connections at a time that waited for too long
}

// reading is everything that a cell's cost is made from. CPU times are seconds.
type reading struct {
	time      time.Time
	host      host.CPUTime
	generator float64
	limit     host.CPULimit // of k6
	server    *client.Proc  // nil where the agent sees none on the target's port
	emulation float64       // the link agent itself
	link      linkReading
}

// observe takes one line of the generator's progress.
func (w *watch) observe(line records.Progress) {
	if w.last.UnixNs != 0 && w.last.UnixNs < w.last.WindowEnd {
		w.silence = max(w.silence, time.Duration(line.UnixNs-w.last.UnixNs))
	}
	if w.last.UnixNs != 0 && line.UnixNs > w.last.UnixNs {
		seconds := float64(line.UnixNs-w.last.UnixNs) / 1e9
		w.series = append(w.series, result.SeriesPoint{
			T:             float64(line.UnixNs-line.WindowStart) / 1e9,
			DeliveredBits: float64(line.Bytes-w.last.Bytes) * 8 / seconds,
		})
	}
	w.last = line
}

// The sockets are read ten times a second, of many connections so much less often
// that it costs no more; but not when the window is about to end: its end must not
// wait for that.
const (
	sampleEvery         = 100 * time.Millisecond
	samplePerConnection = time.Millisecond
	sampleAhead         = 200 * time.Millisecond
)

// tick reads the cost when the window has just started or ended.
func (w *watch) tick(ctx context.Context) error {
	now := time.Now()
	switch {
	case w.last.UnixNs == 0:
		return nil // k6 has not started its scenario
	case w.start == nil && now.UnixNano() >= w.last.WindowStart:
		w.sampled = now
		return w.read(ctx, &w.start)
	case w.start != nil && w.end == nil && now.UnixNano() >= w.last.WindowEnd:
		return w.read(ctx, &w.end)
	case w.start != nil && w.end == nil && now.Sub(w.sampled) >= w.untilSample() && now.Add(sampleAhead).UnixNano() < w.last.WindowEnd:
		w.sampled = now
		return w.sample(ctx)
	}
	return nil
}

func (w *watch) untilSample() time.Duration {
	return max(sampleEvery, time.Duration(w.sockets.Established)*samplePerConnection)
}

// sample reads the target's sockets.
func (w *watch) sample(ctx context.Context) error {
	if w.agent == nil || w.start.server == nil {
		return nil
	}
	sockets, err := w.agent.Sockets(ctx, w.port)
	if err != nil || sockets.Established == 0 {
		return err
	}
	w.sockets = sockets
	w.seen += sockets.Established
	w.waiting += sockets.Waiting
	w.oldestMs = max(w.oldestMs, sockets.OldestUnackedMs)
	w.stalled = max(w.stalled, sockets.Stalled)
	return nil
}

func (w *watch) read(ctx context.Context, into **reading) error {
	r := &reading{time: time.Now(), host: host.ReadCPU()}
	var err error
	if r.generator, err = w.k6.cpuTime(); err != nil {
		return nil // k6 has just ended: the next reading knows it
	}
	// Of one that has ended it is not known: the start's reading has it.
	r.limit, _ = host.CPULimitOf(w.k6.cmd.Process.Pid)
	if w.agent != nil {
		procs, err := w.agent.Procs(ctx)
		if err != nil {
			return err
		}
		r.emulation = procs.Agent.CPUSeconds
		if r.server, err = w.server(procs); err != nil {
			return err
		}
		if r.link, err = readLink(ctx, w.agent); err != nil {
			return err
		}
	}
	*into = r
	return nil
}

// cost writes into the cell what the window cost, and the evidence.
func (w *watch) cost(c *result.Cell) {
	if w.start == nil || w.end == nil {
		return
	}
	c.HostCPU = w.end.host.BusySince(w.start.host)
	gigabytes := float64(c.Delivered()) / 1e9
	perGB := func(seconds float64) *float64 {
		if gigabytes == 0 {
			return nil
		}
		v := seconds / gigabytes
		return &v
	}
	c.GenCPUSPerGB = perGB(w.end.generator - w.start.generator)
	if w.start.server != nil && w.end.server != nil {
		c.ServerCPUSPerGB = perGB(w.end.server.CPUSeconds - w.start.server.CPUSeconds)
		megabytes := float64(w.end.server.RSSBytes) / 1e6
		c.ServerRSSMB = &megabytes
	}
	c.Evidence = w.evidence()
	c.Evidence.Wire = wire(w.start.link, w.end.link, w.end.link.time.Sub(w.start.link.time).Seconds())
	if w.whole {
		c.Evidence.Wire = wire(w.before, w.end.link, c.WindowS)
	}
}

func (w *watch) evidence() *result.Evidence {
	start, end := w.start, w.end
	seconds := end.time.Sub(start.time).Seconds()
	e := &result.Evidence{
		HostCPUs: end.host.CPUs,
		Generator: &result.CPUUse{
			CPUs: (end.generator - start.generator) / seconds, Allowed: start.limit.CPUs,
			Throttled: share(end.limit.Throttled-start.limit.Throttled, end.limit.Periods-start.limit.Periods),
		},
		TCP: w.tcp(),
	}
	if w.agent == nil {
		return e
	}
	emulation := (end.emulation - start.emulation) / seconds
	e.Agent = &emulation
	e.Emulator = emulator(start.link.Stats, end.link.Stats)
	if start.server != nil && end.server != nil {
		e.Server = &result.CPUUse{
			CPUs: (end.server.CPUSeconds - start.server.CPUSeconds) / seconds, Allowed: end.server.AllowedCPUs,
			Throttled: share(end.server.ThrottledPeriods-start.server.ThrottledPeriods, end.server.QuotaPeriods-start.server.QuotaPeriods),
		}
		for thread, used := range end.server.ThreadSeconds {
			e.Server.BusiestThread = max(e.Server.BusiestThread, (used-start.server.ThreadSeconds[thread])/seconds)
		}
	}
	return e
}

// share is 0 of nothing.
func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// emulator compares the link's counters. They restart when a link is set, which
// does not happen while a cell runs.
func emulator(start, end client.Stats) *result.Emulator {
	drops := end.Drops - start.Drops
	e := &result.Emulator{Dropped: share(drops, drops+end.SentPackets-start.SentPackets)}
	if a, b := start.DelayLine, end.DelayLine; a != nil && b != nil {
		shed, lost := b.Shed-a.Shed, b.Dropped-a.Dropped
		all := b.Packets - a.Packets + shed + lost
		e.Late, e.Lost, e.Held = share(b.Late-a.Late+shed, all), share(lost, all), b.Held-a.Held
	}
	return e
}

// tcp sums up the samples of the sockets; nil without any.
func (w *watch) tcp() *result.TCP {
	s := w.sockets
	if w.seen == 0 {
		return nil
	}
	t := &result.TCP{
		Connections: s.Established, Waiting: float64(w.waiting) / float64(w.seen), Busy: s.BusySeconds, RTTMs: s.RTTMs,
		OldestUnackedMs: w.oldestMs, Stalled: w.stalled,
	}
	if s.BusySeconds > 0 {
		t.ReceiverLimited, t.BufferLimited = s.ReceiverLimitedSeconds/s.BusySeconds, s.BufferLimitedSeconds/s.BusySeconds
	}
	if s.SentBytes > 0 {
		t.Retransmitted = float64(s.RetransmittedBytes) / float64(s.SentBytes)
	}
	return t
}

// portOf returns the TCP port that a target's URL leads to.
func portOf(target string) int {
	u, err := url.Parse(target)
	if err != nil {
		return 0
	}
	if port, err := strconv.Atoi(u.Port()); err == nil {
		return port
	}
	if u.Scheme == "https" {
		return 443
	}
	return 80
}
