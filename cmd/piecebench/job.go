package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"piecebench/bench/capacity"
	"piecebench/bench/result"
	"piecebench/bench/runner"
	"piecebench/bench/settings"
	"piecebench/bench/workload"
	"piecebench/internal/ending"
	"piecebench/lab"
	"piecebench/netem/client"
	"piecebench/piece/dataset"
	"piecebench/report/export"
	"piecebench/report/text"
	"piecebench/servers"
)

// resumeVariable names a run's folder; only what that run lacks is measured.
const resumeVariable = "RESUME"

// job is a sweep whose variables are parsed: one process parses them, where they
// enter, and another one carries the sweep out, where the clients are.
type job struct {
	Settings settings.Settings
	Manifest string
	Out      string // the run's folder
	Resume   bool   // Out holds a run that is to be completed
	LabGoes  bool   // the lab is removed after the run
	// LabTargets are the containers' servers, as LAB_TARGETS names those of a native lab.
	LabTargets string
	// Capacity is what to search the most clients for, in place of a sweep; nil of a sweep.
	Capacity *capacity.Limits
}

// newJob names the run's folder: the one that is resumed, the one that is given,
// or a new one.
func newJob(s settings.Settings, manifest, out string) (job, error) {
	resume := os.Getenv(resumeVariable)
	switch {
	case resume != "" && out != "":
		return job{}, fmt.Errorf("%s=%s names the run's folder already: leave --out away", resumeVariable, resume)
	case resume != "":
		out = resume
	case out == "":
		host, err := os.Hostname()
		if err != nil {
			return job{}, err
		}
		out = filepath.Join(defaultResults, result.NewID(time.Now(), host))
	}
	return job{Settings: s, Manifest: manifest, Out: out, Resume: resume != ""}, nil
}

// run carries out the sweep, and prints its summary and the report's path.
func (j job) run(ctx context.Context) error {
	files, err := findInstall()
	if err != nil {
		return err
	}
	token, err := client.TakeToken()
	if err != nil {
		return err
	}
	ctx, stop := ending.Context(ctx)
	defer stop()
	err = runner.Run(ctx, j.Settings, runner.Options{
		Manifest:   j.Manifest,
		Out:        j.Out,
		Resume:     j.Resume,
		K6:         files.k6(),
		Scripts:    files.scripts(),
		Agent:      os.Getenv("AGENT_URL"),
		AgentToken: token,
		Shaped:     os.Getenv("AGENT_SHAPED_URL"),
		Targets:    cmp.Or(j.LabTargets, os.Getenv("LAB_TARGETS")),
		ServerLog:  os.Getenv("LAB_LOGS"),
		Prometheus: os.Getenv("PROMETHEUS_URL"),
		Grafana:    os.Getenv("GRAFANA_URL"),
		LabGoes:    j.LabGoes,
		Capacity:   j.Capacity,
		Progress:   os.Stderr,
		Report:     export.Write,
	})
	if errors.Is(err, runner.ErrInterrupted) {
		err = problem{err}
	}
	if measured, loadErr := result.Load(j.Out); loadErr == nil {
		fmt.Print(text.Run(measured, terminalWidth()))
		fmt.Println(filepath.Join(j.Out, "report.html"))
		if err == nil && j.Capacity != nil {
			err = wanted(measured)
		}
	}
	return err
}

// jobVariable is the environment variable in which a job is handed on, as JSON.
// A command line is no place for the secrets of its targets: everybody can read it.
const jobVariable = "PIECEBENCH_JOB"

func (j job) variable() (string, error) {
	text, err := json.Marshal(j)
	return jobVariable + "=" + string(text), err
}

// sweepCommand carries out a job. A lab runs it where the clients are.
func sweepCommand() *cobra.Command {
	return &cobra.Command{Use: "sweep", Hidden: true, Short: "Carry out the job in $" + jobVariable + ": the labs run it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var j job
			if err := json.Unmarshal([]byte(os.Getenv(jobVariable)), &j); err != nil {
				return fmt.Errorf("%s holds no job: %w", jobVariable, err)
			}
			return j.run(cmd.Context())
		}}
}

// prepareCommand does what comes before the containers' lab: it refuses bad
// settings, makes the dataset, and prints the run's folder, the job, the servers'
// services, and the link agent's --ports.
func prepareCommand() *cobra.Command {
	return &cobra.Command{Use: "prepare", Hidden: true, Short: "Check the settings, make the dataset, print what to run: the containers' lab runs it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			limits, err := limitsFromEnvironment()
			if err != nil {
				return err
			}
			s, err := makeSettings(nil)
			if err != nil {
				return err
			}
			if limits != nil {
				if _, err := capacity.New(s, *limits); err != nil {
					return err
				}
			}
			ctx, stop := ending.Context(cmd.Context())
			defer stop()
			if err := makeDataset(ctx, defaultData, s); err != nil {
				return err
			}
			j, err := newJob(s, filepath.Join(defaultData, manifestName), "")
			if err != nil {
				return err
			}
			recipes := s.LabServers()
			j.LabTargets = lab.TargetURLs(recipes)
			j.Capacity = limits
			text, err := json.Marshal(j)
			var services []string
			for _, r := range recipes {
				services = append(services, r.Name)
				if r.Uses(servers.State) { // the engine would give the folder to root
					if err := os.MkdirAll(filepath.Join(defaultData, r.Name), 0o755); err != nil {
						return err
					}
				}
			}
			fmt.Printf("%s\n%s\n%s\n%s\n", j.Out, text, strings.Join(services, " "), lab.AgentPorts(recipes))
			return err
		}}
}

// makeDataset makes the dataset of a sweep, or finds it made.
func makeDataset(ctx context.Context, data string, s settings.Settings) error {
	_, err := dataset.Create(ctx, data, s.Dataset, os.Stderr)
	if objects := workload.Of(s.Workload).Data; objects != nil && err == nil {
		var modes []string
		for _, m := range s.Modes {
			modes = append(modes, m.Name)
		}
		err = objects(ctx, data, modes, s.Parameters, s.Dataset.Seed, os.Stderr)
	}
	if err != nil && ctx.Err() != nil {
		return problem{errors.New("interrupted while making the dataset: nothing half-made is left")}
	}
	return err
}
