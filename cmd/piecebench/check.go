package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"piecebench/bench/result"
	"piecebench/bench/slo"
)

func checkCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "check --slo FILE RUN_DIR",
		Short: "Check a run against limits; exit code 1 if one does not hold",
		Long: `Check a run against limits; exit code 1 if one does not hold. The file is a YAML
list of rules: which cells (* stands for anything, none for all) and their limits.

  - target: gateway
    mode: "*MiB"
    concurrency: 1,10,100
    success_rate: 99.9%        # at least
    ttfb_p95: 200ms            # at most; also ttfb_p50, ttfb_p99
    job_p90: 2s                # at most; also job_p50, job_p99, job_success_rate (at least)
    client_goodput: 5mbit      # at least, of the cell's goodput divided by its clients
  - target: gateway
    link: 1gbit/*
    link_share: 90%            # at least
    goodput_over: {raw: 0.95}  # at least, of the mean over the repetitions

A value of which cut requests show only a lower bound does not hold a limit above it.
What the machine that measured decided (limited by host, generator or emulator; for TTFB
also a late link) is not judged, and is listed; a limit that could be judged in no cell
does not hold.`,
		Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				return fmt.Errorf("check needs the file of limits: --slo FILE (piecebench check --help shows one)")
			}
			rules, err := slo.Load(file)
			if err != nil {
				return err
			}
			run, err := result.Load(args[0])
			if err != nil {
				return err
			}
			found := slo.Check(run, rules)
			for _, line := range append(found.NotJudged, found.Broken...) {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", file, line)
			}
			rest := ""
			if n := len(found.NotJudged); n > 0 {
				rest = fmt.Sprintf("; %d could not be judged, because the machine that measured decided them", n)
			}
			if n := len(found.Broken); n > 0 {
				return problem{fmt.Errorf("%d of %d limits do not hold in %s%s", n, n+found.Held, run.ID, rest)}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "all %d limits hold in %s%s\n", found.Held, run.ID, rest)
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "slo", "", "the file of limits")
	return cmd
}
