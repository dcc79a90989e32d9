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
  - target: gateway
    link: 1gbit/*
    link_share: 90%            # at least
    goodput_over: {raw: 0.95}  # at least, of the mean over the repetitions

A value of which cut requests show only a lower bound does not hold a limit above it.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("check takes one argument, the folder of a run; got %d", len(args))
			}
			return nil
		},
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
			checked, broken := slo.Check(run, rules)
			for _, line := range broken {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", file, line)
			}
			if len(broken) > 0 {
				return problem{fmt.Errorf("%d of %d limits do not hold in %s", len(broken), checked, run.ID)}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "all %d limits hold in %s\n", checked, run.ID)
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "slo", "", "the file of limits")
	return cmd
}
