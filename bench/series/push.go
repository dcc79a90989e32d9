package series

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"time"

	"github.com/grafana/xk6-output-prometheus-remote/pkg/remote"

	"piecebench/bench/result"
	"piecebench/internal/plain"
)

// pushTimeout limits the wait, before each cell, for a Prometheus that does not answer.
const pushTimeout = 2 * time.Second

// keepFor is how long a cell that could not be sent is sent again. Prometheus refuses a whole
// request if one sample is an hour older than its newest.
const keepFor = 30 * time.Minute

// WriteURL returns the URL of remote write for a Prometheus at a base URL.
func WriteURL(prometheus string) string {
	return strings.TrimRight(prometheus, "/") + "/api/v1/write"
}

// Pusher sends the series of one run to a Prometheus. If that fails, the run loses a limited time
// and gets one warning. A nil Pusher sends nothing.
type Pusher struct {
	client  *remote.WriteClient
	url     string // as it is shown
	warn    func(format string, args ...any)
	created time.Time
	sent    int  // of the run's cells
	failing bool // the last push failed, and the user knows
}

// NewPusher returns a Pusher for the Prometheus at a base URL, nil for none.
func NewPusher(prometheus string, warn func(format string, args ...any)) (*Pusher, error) {
	if prometheus == "" {
		return nil, nil
	}
	client, err := remote.NewWriteClient(WriteURL(prometheus), &remote.HTTPConfig{
		Timeout:   pushTimeout,
		TLSConfig: &tls.Config{}, // with one, the client uses no proxy, like k6's
	})
	if err != nil {
		return nil, fmt.Errorf("PROMETHEUS_URL=%s: %s", plain.URL(prometheus), plain.Error(err))
	}
	return &Pusher{client: client, url: plain.URL(prometheus), warn: warn, created: time.Now()}, nil
}

// Push sends the run's description, its links, the cells since the last successful push, and what
// the sweep still takes, 0 if that is not known. It returns whether Prometheus accepted them.
func (p *Pusher) Push(run *result.Run, left time.Duration) bool {
	if p == nil {
		return false
	}
	now := time.Now()
	// The earlier cells of a resumed run were sent when they were measured.
	oldest := p.created
	if limit := now.Add(-keepFor); oldest.Before(limit) {
		oldest = limit
	}
	all := append(ofRun(run, now, left), ofRows(run, now)...)
	for _, c := range run.Cells[p.sent:] {
		if c.WindowEnd().After(oldest) {
			all = append(all, ofCell(run.ID, c)...)
		}
	}
	// Not the sweep's context: an interrupted sweep sends its cells too.
	if err := p.client.Store(context.Background(), all); err != nil {
		if !p.failing {
			p.warn("warning: Prometheus at %s takes no series (%v): the run goes on and its records are complete, dashboards have a gap. Is it up, with --web.enable-remote-write-receiver?", p.url, plain.Error(err))
		}
		p.failing = true
		return false
	}
	if p.failing {
		p.warn("Prometheus at %s takes series again", p.url)
	}
	p.failing = false
	p.sent = len(run.Cells)
	return true
}
