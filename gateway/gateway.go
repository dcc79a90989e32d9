// Package gateway is an HTTP server for Filecoin pieces.
//
//	handler    HTTP: routes, statuses, conditions, bodies
//	byterange  the Range header
//	store      piece files, and how they get into a socket
//	wire       TCP connections
//	metrics    what Prometheus sees
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"piecebench/gateway/handler"
	"piecebench/gateway/metrics"
	"piecebench/gateway/store"
	"piecebench/gateway/wire"
	"piecebench/piece"
)

// Gateway is a gateway that listens.
type Gateway struct {
	config   Config
	log      *slog.Logger
	manifest atomic.Pointer[piece.Manifest]
	metrics  *metrics.Metrics
	listener *wire.Listener
	server   *http.Server
}

// New loads the manifest and opens the listening socket; Serve must follow.
func New(config Config, log *slog.Logger) (*Gateway, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	files, err := divideFiles(config.MaxInFlight)
	if err != nil {
		return nil, err
	}
	m, err := piece.Load(config.Manifest)
	if err != nil {
		return nil, err
	}
	g := &Gateway{config: config, log: log}
	g.manifest.Store(m)

	inFlight := make(chan struct{}, files.inFlight)
	g.metrics = metrics.New(metrics.Gauges{
		InFlight:    func() float64 { return float64(len(inFlight)) },
		Connections: func() float64 { return float64(g.listener.Connections()) },
		Pieces:      func() float64 { return float64(len(g.manifest.Load().Pieces)) },
	})
	pieces, err := store.New(config.Store, store.Config{
		Dir:     filepath.Dir(config.Manifest),
		Reads:   config.MaxReads,
		Observe: g.metrics.Read,
	})
	if err != nil {
		return nil, err
	}
	h := &handler.Handler{
		Manifest:    &g.manifest,
		Store:       pieces,
		InFlight:    inFlight,
		Metrics:     g.metrics,
		Log:         log,
		BodyTimeout: config.HeaderTimeout,
	}
	if config.AccessLog {
		h.AccessLog = log
	}
	// No ReadTimeout and no WriteTimeout: a large piece over a slow link may take
	// hours. The listener ends connections that make no progress.
	g.server = &http.Server{
		Handler:           h,
		ConnContext:       wire.ConnContext,
		ReadHeaderTimeout: config.HeaderTimeout,
		IdleTimeout:       config.IdleTimeout,
		MaxHeaderBytes:    config.MaxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	if g.listener, err = wire.Listen(config.Listen, config.ProgressTimeout, files.connections); err != nil {
		return nil, fmt.Errorf("listening on %s: %w", config.Listen, err)
	}
	if files.inFlight < config.MaxInFlight {
		log.Warn("the open-file limit allows fewer requests at a time than --max-in-flight: further ones get 429, unless you raise it (ulimit -n)",
			"max_in_flight", config.MaxInFlight, "allowed", files.inFlight)
	}
	return g, nil
}

// Addr returns the address that the gateway listens on.
func (g *Gateway) Addr() net.Addr { return g.listener.Addr() }

// Serve answers requests until ctx ends. It then accepts no new connection, waits
// for the running requests up to the drain timeout, and drops the rest.
func (g *Gateway) Serve(ctx context.Context) error {
	g.log.Info("serving", "address", g.Addr().String(), "store", g.config.Store, "pieces", len(g.manifest.Load().Pieces))
	ended := make(chan error, 1)
	go func() { ended <- g.server.Serve(g.listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	g.log.Info("draining", "timeout", g.config.DrainTimeout.String())
	start := time.Now()
	drain, cancel := context.WithTimeout(context.Background(), g.config.DrainTimeout)
	defer cancel()
	err := g.server.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		g.log.Warn("requests dropped that did not end in time")
		err = g.server.Close()
	}
	g.log.Info("stopped", "seconds", time.Since(start).Seconds())
	return err
}

// Reload reads the manifest's file again. It refuses a manifest with any fault and
// keeps the old one. Running requests are not affected.
func (g *Gateway) Reload() error {
	m, err := piece.Load(g.config.Manifest)
	g.metrics.Reloaded(err == nil)
	if err != nil {
		g.log.Error("manifest not reloaded, the old one stays", "error", err)
		return err
	}
	old := g.manifest.Swap(m)
	g.log.Info("manifest reloaded", "pieces", len(m.Pieces), "before", len(old.Pieces))
	return nil
}
