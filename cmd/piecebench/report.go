package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"piecebench/bench/result"
	"piecebench/bench/settings"
	"piecebench/report/export"
)

func reportCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "report RUN_DIR",
		Short: "Make a run's report again from its folder",
		Long: `Make a run's report again from its folder: report.html and report.md, or one of
  html        a page with charts, that needs no network
  md          tables for an issue
  boost-2023  the table of the Boost team's study of 2023: latency and bandwidth as
              average, least, median, most, P(90) and P(95); from the requests' records
  text        the summary, printed

With prices, of the run or given now, it has the cost of a TB delivered.`,
		Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := result.Load(args[0])
			if err != nil {
				return err
			}
			if run.Settings, err = settings.WithPrices(run.Settings, cmd.Flags()); err != nil {
				return err
			}
			formats := []export.Format{export.HTML, export.Markdown}
			if format != "" {
				f, err := export.Named(export.OfRuns(terminalWidth()), format)
				if err != nil {
					return fmt.Errorf("report %w", err)
				}
				if f.File == "" {
					text, err := f.Run(args[0], run)
					if err == nil {
						_, err = cmd.OutOrStdout().Write(text)
					}
					return err
				}
				formats = []export.Format{f}
			}
			paths, err := export.Save(args[0], run, formats...)
			for _, path := range paths {
				fmt.Fprintln(cmd.OutOrStdout(), path)
			}
			return err
		},
	}
	settings.AddFlags(cmd.Flags(), settings.PriceVariables...)
	cmd.Flags().StringVar(&format, "format", "", export.Names(export.OfRuns(mostWidth))+" (default html and md)")
	return cmd
}
