package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"piecebench/bench/capacity"
	"piecebench/bench/plan"
	"piecebench/bench/result"
	"piecebench/bench/settings"
	"piecebench/lab"
	"piecebench/netem/link"
	"piecebench/servers"
)

// Variables of make capacity. limitsVariable has the content of the file that sloVariable names,
// where the file itself cannot be read: in containers.
const (
	sloVariable     = "SLO"
	atLeastVariable = "AT_LEAST"
	limitsVariable  = "PIECEBENCH_SLO"
)

func capacityCommand() *cobra.Command {
	var file, atLeast, manifest, out, name string
	var cfg lab.Config
	var planOnly bool
	cmd := &cobra.Command{
		Use:   "capacity --slo FILE",
		Short: "Find the most clients that each target serves within limits; exit code 1 if fewer than --at-least",
		Long: fmt.Sprintf(`Find the most clients that each target serves within limits, for each link and mode. The
limits are those of piecebench check --slo, without concurrency and goodput_over:

  - target: mine
    success_rate: 99.9%%
    ttfb_p95: 200ms
    client_goodput: 5mbit      # of the cell's goodput, divided by its clients

The search multiplies the clients until a cell does not hold a limit, then narrows the two
ends to within 5 %% of each other, and measures both ends again: at most %d cells. It tries
at most CONCURRENCY clients. If that is not given, it tries as many as the lab's servers are
set up for (%d), or as this process may have descriptors for. RESUME continues a search that was interrupted.

Targets of the lab, and links, need root: the lab is brought up and removed. Servers of
your own, with --links none, need no lab:

  piecebench capacity --slo limits.yaml --targets 'mine=http://127.0.0.1:9999/piece/{piece}' \
    --links none --modes 1MiB --at-least 100

The exit code is 1 if a target does not serve --at-least clients.`, capacity.MostCells, labClients()),
		Args: cobra.NoArgs,
	}
	settings.AddFlags(cmd.Flags())
	addLabFlags(cmd, &cfg)
	cmd.Flags().StringVar(&file, "slo", "", "the file of limits (also $"+sloVariable+")")
	cmd.Flags().StringVar(&atLeast, "at-least", "", "clients that each target has to serve (default 1; also $"+atLeastVariable+")")
	cmd.Flags().BoolVar(&planOnly, "plan", false, "show the searches and how long they take at most; change nothing")
	cmd.Flags().StringVar(&manifest, "manifest", filepath.Join(defaultData, manifestName), "the dataset's manifest, where no lab is needed")
	cmd.Flags().StringVar(&out, "out", "", "folder to make for the results, where no lab is needed (default "+defaultResults+"/<UTC time>-<host>)")
	cmd.Flags().StringVar(&name, "name", "bench", "the name of the lab")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		profile := cmd.Flags().Lookup("profile").Value.String()
		for variable, value := range map[string]string{sloVariable: file, atLeastVariable: atLeast, profileVariable: profile} {
			if value == "" {
				continue
			}
			if err := os.Setenv(variable, value); err != nil {
				return err
			}
		}
		limits, err := limitsFromEnvironment()
		if err != nil {
			return err
		}
		if limits == nil {
			return fmt.Errorf("capacity needs the file of limits: --slo FILE, or %s=FILE (piecebench capacity --help shows one)", sloVariable)
		}
		s, err := makeSettings(cmd.Flags())
		if err != nil {
			return err
		}
		search, err := capacity.New(s, *limits)
		if err != nil {
			return err
		}
		if err := plan.CheckDescriptors(s); err != nil {
			return err
		}
		if planOnly {
			return search.Write(cmd.OutOrStdout())
		}
		if needsLab(s) {
			return inOwnLab(cmd.Context(), s, limits, name, cfg)
		}
		j, err := newJob(s, manifest, out)
		if err != nil {
			return err
		}
		j.Capacity = limits
		return j.run(cmd.Context())
	}
	return cmd
}

// needsLab tells whether a lab must be brought up for settings. Inside a lab there is one.
func needsLab(s settings.Settings) bool {
	inLab := slices.ContainsFunc(s.Targets, settings.Target.InLab)
	emulated := slices.ContainsFunc(s.Links, func(l link.Spec) bool { return l != link.None })
	return (inLab || emulated) && os.Getenv("AGENT_URL") == ""
}

// labClients is how many clients each of the lab's servers is set up for.
func labClients() (least int) {
	for i, r := range servers.All() {
		if i == 0 || r.Clients < least {
			least = r.Clients
		}
	}
	return least
}

// limitsFromEnvironment returns what the environment asks of a search for capacities; nil
// without limits. Without a concurrency of the user's, a search goes as far as the lab does.
func limitsFromEnvironment() (*capacity.Limits, error) {
	limits := &capacity.Limits{File: os.Getenv(sloVariable), Content: os.Getenv(limitsVariable), AtLeast: 1}
	if limits.File == "" {
		return nil, nil
	}
	if limits.Content == "" {
		content, err := os.ReadFile(limits.File)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s=%s does not exist: name a file of limits (piecebench capacity --help shows one)", sloVariable, limits.File)
		}
		if err != nil {
			return nil, err
		}
		limits.Content = string(content)
	}
	limits.File = filepath.Base(limits.File) // a path may name a user
	if text := os.Getenv(atLeastVariable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > settings.MaxConcurrency {
			return nil, fmt.Errorf("%s=%s: want a number of clients from 1 to %d", atLeastVariable, text, settings.MaxConcurrency)
		}
		limits.AtLeast = n
	}
	if os.Getenv(concurrencyVariable) == "" && os.Getenv(profileVariable) == "" {
		most, err := plan.MostClients()
		if err != nil {
			return nil, err
		}
		return limits, os.Setenv(concurrencyVariable, strconv.Itoa(min(labClients(), max(1, most))))
	}
	return limits, nil
}

const (
	concurrencyVariable = "CONCURRENCY"
	profileVariable     = "PROFILE"
)

// wanted is an error if a search did not find the wanted number of clients.
func wanted(run *result.Run) error {
	if run.Capacity.Reached() {
		return nil
	}
	var short []string
	for _, a := range run.Capacity.Answers {
		if a.Clients < run.Capacity.AtLeast {
			short = append(short, fmt.Sprintf("%s (%s, %s): %d", a.Target, a.Mode, result.LinkName(a.Link), a.Clients))
		}
	}
	return problem{fmt.Errorf("fewer clients than the %d wanted: %s", run.Capacity.AtLeast, strings.Join(short, "; "))}
}
