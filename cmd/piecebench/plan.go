package main

import (
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"piecebench/bench/capacity"
	"piecebench/bench/plan"
	"piecebench/bench/settings"
)

func planCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "plan", Short: "Show what a run would do: its cells, bytes and expected time; changes nothing", Args: cobra.NoArgs}
	settings.AddFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		limits, err := limitsFromEnvironment()
		if err != nil {
			return err
		}
		s, err := makeSettings(cmd.Flags())
		if err != nil {
			return err
		}
		if err := plan.CheckDescriptors(s); err != nil {
			return err
		}
		if limits != nil {
			search, err := capacity.New(s, *limits)
			if err != nil {
				return err
			}
			return search.Write(cmd.OutOrStdout())
		}
		return plan.Write(cmd.OutOrStdout(), s)
	}
	return cmd
}

func variablesCommand() *cobra.Command {
	return &cobra.Command{Use: "variables", Short: "List the variables of a run, their defaults and meaning", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
			for _, v := range settings.Describe() {
				fmt.Fprintf(table, "  %s\t%s\t%s\n", v.Name, v.Default, v.Meaning)
			}
			return table.Flush()
		}}
}
