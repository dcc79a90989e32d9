// Command piecebench makes datasets, brings the lab up, runs sweeps and
// reports on them. Exit codes: 0 fine, 1 the run found a problem, 2 bad input
// or environment.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"piecebench/version"
)

// problem is an error of exit code 1: the command worked, and what it looked
// at is not as it should be.
type problem struct{ error }

func main() {
	hideSecrets()
	root := &cobra.Command{
		Use:           "piecebench",
		Short:         "Measures how well a piece gateway serves retrievals",
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(benchCommand(), planCommand(), doctorCommand(), runCommand(), sweepCommand(), prepareCommand(), variablesCommand(), datasetCommand(), labCommand(), reportCommand(), compareCommand(), checkCommand(), promiseCommand(), capacityCommand(), probeCommand())
	if err := root.Execute(); err != nil {
		if child := (childExit{}); errors.As(err, &child) {
			os.Exit(child.code)
		}
		fmt.Fprintln(os.Stderr, "piecebench:", err)
		if errors.As(err, &problem{}) {
			os.Exit(1)
		}
		os.Exit(2)
	}
}
