package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"piecebench/bench/result"
	"piecebench/bench/settings"
	"piecebench/report"
)

func reportCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "report RUN_DIR",
		Short: "Make a run's report anew from its folder",
		Long: `Make a run's report anew from its folder: report.html and report.md, or one of
  html        a page with charts, that needs no network
  md          tables for an issue
  svg         a picture of the first link's goodput
  boost-2023  the table of the Boost team's study of 2023: latency and bandwidth as
              average, least, median, most, P(90) and P(95); from the requests' records
  text        the summary, printed

With prices, of the run or given now, it has the cost of a TB delivered.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("report takes one argument, the folder of a run; got %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := result.Load(args[0])
			if err != nil {
				return err
			}
			if run.Settings, err = settings.WithPrices(run.Settings, cmd.Flags()); err != nil {
				return err
			}
			formats := []string{"html", "md"}
			switch format {
			case "":
			case "text":
				_, err := fmt.Fprint(cmd.OutOrStdout(), report.Text(run, terminalWidth()))
				return err
			default:
				formats = []string{format}
			}
			paths, err := report.WriteFormats(args[0], run, formats...)
			for _, path := range paths {
				fmt.Fprintln(cmd.OutOrStdout(), path)
			}
			return err
		},
	}
	settings.AddFlags(cmd.Flags(), settings.PriceVariables...)
	cmd.Flags().StringVar(&format, "format", "", "html, md, svg, boost-2023 or text (default html and md)")
	return cmd
}
