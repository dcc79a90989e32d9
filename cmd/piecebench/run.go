package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"piecebench/bench/settings"
)

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
		j, err := newJob(s, manifest, out)
		if err != nil {
			return err
		}
		return j.run(cmd.Context())
	}
	return cmd
}
