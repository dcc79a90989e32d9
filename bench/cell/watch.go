package cell

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"piecebench/bench/hostcpu"
	"piecebench/bench/result"
	"piecebench/k6/x/retrieval/record"
	"piecebench/netem/client"
)

// watch reads what a cell costs, at the start and at the end of its window.
type watch struct {
	agent     *client.Client          // nil: no figures of the server
	generator func() (float64, error) // CPU seconds of k6
	port      int                     // that the server listens on

	start, end *reading
	last       record.Progress // zero before the first
	series     []result.SeriesPoint
}

// reading is everything that a cell's cost is made from. CPU times are seconds.
type reading struct {
	host      hostcpu.Time
	generator float64
	server    *client.Proc // nil where the agent sees none on the target's port
}

// observe takes one line of the generator's progress.
func (w *watch) observe(line record.Progress) {
	if w.last.UnixNs != 0 && line.UnixNs > w.last.UnixNs {
		seconds := float64(line.UnixNs-w.last.UnixNs) / 1e9
		w.series = append(w.series, result.SeriesPoint{
			T:           float64(line.UnixNs-line.WindowStart) / 1e9,
			GoodputBits: float64(line.Bytes-w.last.Bytes) * 8 / seconds,
		})
	}
	w.last = line
}

// tick reads the cost when the window has just started or ended.
func (w *watch) tick(ctx context.Context) error {
	now := time.Now().UnixNano()
	switch {
	case w.last.UnixNs == 0:
		return nil // k6 has not started its scenario
	case w.start == nil && now >= w.last.WindowStart:
		return w.read(ctx, &w.start)
	case w.start != nil && w.end == nil && now >= w.last.WindowEnd:
		return w.read(ctx, &w.end)
	}
	return nil
}

func (w *watch) read(ctx context.Context, into **reading) error {
	r := &reading{host: hostcpu.Read()}
	generator, err := w.generator()
	if err != nil {
		return nil // k6 has just ended: the next reading knows it
	}
	r.generator = generator
	if w.agent != nil {
		procs, err := w.agent.Procs(ctx)
		if err != nil {
			return err
		}
		for _, p := range procs.Procs {
			if p.Port == w.port && p.Command != "" {
				r.server = &p
			}
		}
	}
	*into = r
	return nil
}

// cost writes what the window cost into the cell.
func (w *watch) cost(c *result.Cell) {
	if w.start == nil || w.end == nil {
		return
	}
	c.HostCPU = w.end.host.BusySince(w.start.host)
	gigabytes := float64(c.WindowBytes) / 1e9
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
