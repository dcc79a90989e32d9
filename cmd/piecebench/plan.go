package main

import (
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"piecebench/bench/plan"
	"piecebench/bench/settings"
)

func planCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "plan", Short: "Show what a run would do: its cells, bytes and expected time; changes nothing", Args: cobra.NoArgs}
	settings.AddFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := makeSettings(cmd.Flags())
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "cell\ttarget\tlink\tmode\tclients\tideal request\tat most")
		for _, c := range plan.Cells(s) {
			ideal, most := "-", "-"
			if c.Link.RateBits > 0 {
				ideal = plan.IdealRequest(c, s).Round(time.Millisecond).String()
				most = fmt.Sprintf("%.2f GB", plan.MostBytes(c, s)/1e9)
			}
			fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%d\t%s\t%s\n", c.ID, c.Target.Name, c.Link, c.Mode.Name, c.Concurrency, ideal, most)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		fmt.Printf("%d cells, about %s\n", len(plan.Cells(s)), plan.ExpectedTime(s).Round(time.Minute))
		return nil
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
