package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"piecebench/bench/capacity"
	"piecebench/bench/plan"
	"piecebench/bench/settings"
	"piecebench/internal/ending"
	"piecebench/lab"
)

// makefileVariables are the variables of a make command line that are no settings of a
// run. The Makefile, docker-compose.yml and the runner read them.
var makefileVariables = []string{"RUN", "A", "B", resumeVariable, "GRAFANA_PORT", "GRAFANA_URL", "PROMETHEUS_PORT", sloVariable, atLeastVariable}

// makeSettings reads the settings of a command that make runs. It refuses a variable
// on make's command line that nothing reads: it is misspelt.
func makeSettings(flags *pflag.FlagSet) (settings.Settings, error) {
	if err := settings.CheckMakeOverrides(os.Getenv("MAKEFLAGS"), makefileVariables...); err != nil {
		return settings.Settings{}, err
	}
	return settings.Load(flags)
}

func benchCommand() *cobra.Command {
	var name string
	var cfg lab.Config
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "What make bench does: dataset, native lab, sweep, report, and the lab removed",
		Args:  cobra.NoArgs,
	}
	settings.AddFlags(cmd.Flags())
	addLabFlags(cmd, &cfg)
	cmd.Flags().StringVar(&name, "name", "bench", "the name of the lab")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := makeSettings(cmd.Flags())
		if err != nil {
			return err
		}
		return inOwnLab(cmd.Context(), s, nil, name, cfg)
	}
	return cmd
}

// inOwnLab makes the dataset, brings a lab up, carries out a sweep in it, or searches for
// capacities, and removes the lab.
func inOwnLab(ctx context.Context, s settings.Settings, limits *capacity.Limits, name string, cfg lab.Config) error {
	if s.Runtime == "compose" {
		return errors.New("RUNTIME=compose: this command is the native lab's: make bench RUNTIME=compose runs the containers")
	}
	s.Text["RUNTIME"] = "native" // what auto chose
	l, err := lab.Named(name)
	if err != nil {
		return err
	}
	full, err := labConfig(cfg, s)
	if err != nil {
		return err
	}
	if err := lab.CheckHost(s.LabServers()); err != nil {
		return err
	}
	if err := plan.CheckDescriptors(s); err != nil {
		return err
	}
	j, err := newJob(s, filepath.Join(full.Data, manifestName), "")
	if err != nil {
		return err
	}
	j.LabGoes, j.Capacity = true, limits
	ctx, stop := ending.Context(ctx)
	defer stop()
	if err := makeDataset(ctx, full.Data, s); err != nil {
		return err
	}
	release, err := l.Claim()
	if err != nil {
		return err
	}
	defer release()
	// What is there of this lab was left by a bench that crashed.
	if err := errors.Join(l.Down(), l.Up(full, os.Stderr)); err != nil {
		return err
	}
	swept := sweepIn(ctx, l, j)
	if err := l.Down(); err != nil {
		return err // the sweep has said its own already
	}
	return swept
}

// sweepIn carries out a job where the lab's clients are.
func sweepIn(ctx context.Context, l lab.Lab, j job) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	variable, err := j.variable()
	if err != nil {
		return err
	}
	child := l.Command(self, "sweep")
	child.Env = append(child.Env, variable)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	// It ends as after Ctrl-C when this process is killed: that signal comes when
	// the thread ends that started it.
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if ctx.Err() != nil {
		return errBeforeSweep
	}
	if err := child.Start(); err != nil {
		return err
	}
	// A terminal's Ctrl-C reaches the child as well; a second signal changes
	// nothing there.
	defer context.AfterFunc(ctx, func() { _ = child.Process.Signal(syscall.SIGTERM) })()
	err = child.Wait()
	if ctx.Err() != nil && !child.ProcessState.Exited() {
		return errBeforeSweep // it was not yet listening to signals
	}
	return exitAs(err)
}

var errBeforeSweep = problem{errors.New("interrupted before the sweep began: nothing to keep")}
