package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"piecebench/bench/doctor"
	"piecebench/bench/settings"
)

func doctorCommand() *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what on this machine would distort results, and how to fix it",
		Long: `Say what on this machine would distort the results of make bench with the given
settings, with the evidence and the fix. It changes nothing.

  BLOCKS    the bench cannot run                 exit code 2
  DISTORTS  figures will differ                  exit code 1
  note      good to know; figures stand
  unknown   the evidence cannot be read`,
		Args: cobra.NoArgs,
	}
	settings.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&data, "data", defaultData, "the dataset's folder")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := makeSettings(cmd.Flags())
		if err != nil {
			return err
		}
		prometheusPort, err := portVariable("PROMETHEUS_PORT", 9090)
		if err != nil {
			return err
		}
		grafanaPort, err := portVariable("GRAFANA_PORT", 3000)
		if err != nil {
			return err
		}
		findings := doctor.Examine(doctor.This(s, data, prometheusPort, grafanaPort))
		if err := doctor.Write(cmd.OutOrStdout(), findings); err != nil {
			return err
		}
		switch worst, names := doctor.Worst(findings); worst {
		case doctor.Blocks:
			return fmt.Errorf("the bench cannot run here: %s", strings.Join(names, ", "))
		case doctor.Distorts:
			return problem{fmt.Errorf("results here would be distorted: %s", strings.Join(names, ", "))}
		}
		return nil
	}
	return cmd
}

// portVariable reads one of those that docker-compose.yml and scripts/lab read.
func portVariable(name string, preset int) (int, error) {
	text := os.Getenv(name)
	if text == "" {
		return preset, nil
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < 0 || port > 65535 {
		return 0, fmt.Errorf("%s=%s is not a port", name, text)
	}
	return port, nil
}
