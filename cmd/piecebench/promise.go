package main

import (
	"github.com/spf13/cobra"

	"piecebench/bench/promise"
	"piecebench/bench/result"
)

func promiseCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "promise RUN_DIR",
		Short: "Say what a provider can promise from what a run measured, with 95 % confidence",
		Long: `Say what a provider can promise from what a run measured, for each target and row: the
least retrievability, and the bandwidth and the time to the first byte, connecting included,
that 95 % of the requests have. Each figure holds with 95 % confidence, one-sided, for requests like those of the run: the same server,
path, number of clients and load. It says how many more requests it takes to promise more.

Times and rates need the run's records (requests/*.parquet).`,
		Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := result.Load(args[0])
			if err != nil {
				return err
			}
			all, err := promise.Of(args[0], run)
			if err != nil {
				return err
			}
			if asJSON {
				return promise.WriteJSON(cmd.OutOrStdout(), run, all)
			}
			return promise.Write(cmd.OutOrStdout(), run, all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
