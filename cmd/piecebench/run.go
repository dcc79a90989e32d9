package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"piecebench/bench/result"
	"piecebench/bench/runner"
	"piecebench/bench/settings"
	"piecebench/internal/ending"
	"piecebench/netem/client"
	"piecebench/report"
)

// resumeVariable names a run's folder; only what that run lacks is measured.
const resumeVariable = "RESUME"

func runCommand() *cobra.Command {
	var manifest, out string
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run a sweep against servers that are up, and write its results and report",
		Long: `Run a sweep against servers that are up, and write its results and report.

A target that is named without a URL is one of the lab's: then this runs inside
the lab (piecebench lab exec -- piecebench run), as make bench does it. Servers
of your own need no lab:

  piecebench run --targets 'mine=http://127.0.0.1:9999/piece/{piece}' --links none \
    --modes 1MiB --concurrency 4 --manifest data/pieces.json --out results/x`,
		Args: cobra.NoArgs,
	}
	settings.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&manifest, "manifest", filepath.Join(defaultData, manifestName), "the dataset's manifest")
	cmd.Flags().StringVar(&out, "out", "", "folder to make for the results (default "+defaultResults+"/<UTC time>-<host>)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := settings.Load(cmd.Flags())
		if err != nil {
			return err
		}
		files, err := findInstall()
		if err != nil {
			return err
		}
		resume := os.Getenv(resumeVariable)
		if out, err = outFolder(out, resume); err != nil {
			return err
		}
		token, err := client.TakeToken()
		if err != nil {
			return err
		}
		ctx, stop := ending.Context(cmd.Context())
		defer stop()
		err = runner.Run(ctx, s, runner.Options{
			Manifest:   manifest,
			Out:        out,
			Resume:     resume != "",
			K6:         files.k6(),
			Script:     files.script(),
			Agent:      os.Getenv("AGENT_URL"),
			AgentToken: token,
			Shaped:     os.Getenv("AGENT_SHAPED_URL"),
			Targets:    os.Getenv("LAB_TARGETS"),
			ServerLog:  os.Getenv("LAB_LOGS"),
			Prometheus: os.Getenv("PROMETHEUS_URL"),
			Grafana:    os.Getenv("GRAFANA_URL"),
			Progress:   os.Stderr,
		})
		if errors.Is(err, runner.ErrInterrupted) {
			err = problem{err}
		}
		if measured, loadErr := result.Load(out); loadErr == nil {
			fmt.Print(report.Text(measured, terminalWidth()))
			fmt.Println(filepath.Join(out, "report.html"))
		}
		return err
	}
	return cmd
}

// outFolder returns the run's folder: the one that is resumed, the one that is
// named, or a new name.
func outFolder(named, resume string) (string, error) {
	switch {
	case resume != "" && named != "":
		return "", fmt.Errorf("%s=%s names the run's folder already: leave --out away", resumeVariable, resume)
	case resume != "":
		return resume, nil
	case named != "":
		return named, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	return filepath.Join(defaultResults, result.NewID(time.Now(), host)), nil
}
