// Command piece-gateway serves Filecoin pieces over HTTP. SIGHUP makes it read
// its manifest again, SIGTERM or SIGINT let running requests end and stop it.
// Exit codes: 0 stopped, 1 failed while serving, 2 bad input or environment.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"piecebench/gateway"
	"piecebench/version"
)

// failure is an error of exit code 1.
type failure struct{ error }

func main() {
	if err := command().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "piece-gateway:", err)
		if errors.As(err, &failure{}) {
			os.Exit(1)
		}
		os.Exit(2)
	}
}

func command() *cobra.Command {
	c := gateway.DefaultConfig()
	cmd := &cobra.Command{
		Use:   "piece-gateway --manifest pieces.json",
		Short: "Serves Filecoin pieces over HTTP",
		Long: "Serves GET and HEAD /piece/{piece CID v1 or v2} from unsealed sectors or flat files,\n" +
			"and /metrics and /healthz. SIGHUP reloads the manifest, SIGTERM drains and stops.",
		Version:       version.String(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(*cobra.Command, []string) error { return run(c) },
	}
	f := cmd.Flags()
	f.StringVar(&c.Manifest, "manifest", c.Manifest, "manifest (pieces.json); paths in it are relative to its folder")
	f.StringVar(&c.Listen, "listen", c.Listen, "TCP address")
	f.StringVar(&c.Store, "store", c.Store, "where pieces are read from: unsealed (fr32 sectors) or flat (a file each)")
	f.IntVar(&c.MaxInFlight, "max-in-flight", c.MaxInFlight, "requests for pieces at a time; further ones get 429")
	f.IntVar(&c.MaxReads, "max-reads", c.MaxReads, "reads from disk at a time; further ones wait")
	f.DurationVar(&c.HeaderTimeout, "header-timeout", c.HeaderTimeout, "time for a request's head to arrive")
	f.IntVar(&c.MaxHeader, "max-header", c.MaxHeader, "size of a request's head, in bytes")
	f.DurationVar(&c.IdleTimeout, "idle-timeout", c.IdleTimeout, "time to keep a connection without a request")
	f.DurationVar(&c.ProgressTimeout, "progress-timeout", c.ProgressTimeout, "time for a client to take no byte")
	f.DurationVar(&c.DrainTimeout, "drain-timeout", c.DrainTimeout, "time for running requests to end on SIGTERM")
	f.BoolVar(&c.AccessLog, "access-log", c.AccessLog, "log a line for each request")
	cmd.MarkFlagRequired("manifest")
	return cmd
}

func run(c gateway.Config) error {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	g, err := gateway.New(c, log)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	go func() {
		for range hangup {
			_ = g.Reload() // logs what it did
		}
	}()
	if err := g.Serve(ctx); err != nil {
		return failure{err}
	}
	return nil
}
