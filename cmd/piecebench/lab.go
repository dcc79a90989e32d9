package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"piecebench/bench/settings"
	"piecebench/internal/ending"
	"piecebench/lab"
)

func labCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "The native lab: servers and link in network namespaces",
	}
	cmd.PersistentFlags().StringVar(&name, "name", "default", "the lab's name; labs of different names run side by side")
	named := func(run func(lab.Lab, []string) error) func(*cobra.Command, []string) error {
		return func(_ *cobra.Command, args []string) error {
			l, err := lab.Named(name)
			if err != nil {
				return err
			}
			return run(l, args)
		}
	}

	var cfg lab.Config
	up := &cobra.Command{Use: "up", Short: "Bring the lab up, and leave it running", Args: cobra.NoArgs}
	up.RunE = named(func(l lab.Lab, _ []string) error {
		s, err := settings.LoadTargets(up.Flags())
		if err != nil {
			return err
		}
		full, err := labConfig(cfg, s)
		if err != nil {
			return err
		}
		ctx, stop := ending.Context(context.Background())
		defer stop()
		if err := l.Up(full, os.Stderr); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(problem{errors.New("interrupted: the lab is removed again")}, l.Down())
		}
		return printLab(l)
	})
	addLabFlags(up, &cfg)
	settings.AddFlags(up.Flags(), settings.TargetsVariable)
	var all bool
	down := &cobra.Command{Use: "down", Short: "Remove the lab, whatever state it is in", Args: cobra.NoArgs,
		RunE: named(func(l lab.Lab, _ []string) error {
			if all {
				return downAll()
			}
			return l.Down()
		})}
	down.Flags().BoolVar(&all, "all", false, "remove every lab on this machine")
	status := &cobra.Command{Use: "status", Short: "Show what of the lab is up; exit code 1 if not all of it is", Args: cobra.NoArgs,
		RunE: named(func(l lab.Lab, _ []string) error { return printLab(l) })}
	inside := &cobra.Command{Use: "exec -- COMMAND [ARGUMENT...]", Short: "Run a command where the lab's clients are", Args: cobra.MinimumNArgs(1),
		RunE: named(func(l lab.Lab, args []string) error {
			if !l.Exists() {
				return fmt.Errorf("lab %s is not up: bring it up with: piecebench lab up --name %s", l.Name, l.Name)
			}
			// Signals for this process are then the command's.
			inside := l.Command(args...)
			if inside.Err != nil {
				return inside.Err
			}
			return syscall.Exec(inside.Path, inside.Args, inside.Env)
		})}
	forward := &cobra.Command{Use: "forward ADDRESS", Hidden: true, Short: "Forward what connects to descriptor 3: the lab runs it", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return lab.Forward(args[0]) }}
	cmd.AddCommand(up, down, status, inside, forward)
	return cmd
}

func downAll() error {
	labs, err := lab.All()
	for _, l := range labs {
		err = errors.Join(err, l.Down())
	}
	return err
}

// addLabFlags defines what a lab can be brought up with.
func addLabFlags(cmd *cobra.Command, cfg *lab.Config) {
	cmd.Flags().StringVar(&cfg.Data, "data", defaultData, "the dataset's folder")
	cmd.Flags().StringVar(&cfg.Store, "store", "unsealed", "what the gateway serves from: unsealed or flat")
	cmd.Flags().StringVar(&cfg.Backend, "backend", "auto", "how the link's delay is made: auto, kernel or userspace")
	cmd.Flags().IntVar(&cfg.Prometheus.Port, "prometheus-port", 9090, "port of 127.0.0.1 for the lab's Prometheus; 0: none")
}

// labConfig fills in the servers that are measured, and the paths of piecebench's own
// files.
func labConfig(cfg lab.Config, s settings.Settings) (lab.Config, error) {
	files, err := findInstall()
	if err != nil {
		return cfg, err
	}
	cfg.Bin, cfg.Servers = files.bin(), files.servers()
	var targets []string
	for _, r := range s.LabServers() {
		targets = append(targets, r.Target)
	}
	cfg.Targets = strings.Join(targets, ",")
	cfg.Prometheus.Conf = files.prometheusConf()
	if cfg.Data, err = filepath.Abs(cfg.Data); err != nil {
		return cfg, err
	}
	cfg.Prometheus.Data, err = filepath.Abs(filepath.Join(defaultResults, prometheusData))
	return cfg, err
}

func printLab(l lab.Lab) error {
	if !l.Exists() {
		return problem{fmt.Errorf("lab %s is not up", l.Name)}
	}
	state, err := l.State()
	if err != nil {
		return problem{fmt.Errorf("lab %s is not whole (%w): piecebench lab down removes the rest", l.Name, err)}
	}
	whole := true
	for _, p := range l.Status(state) {
		word := "up"
		if !p.Listening {
			word, whole = "DOWN", false
		}
		fmt.Printf("%-12s port %-5d %s\n", p.Name, p.Port, word)
	}
	if state.PrometheusURL != "" {
		fmt.Printf("metrics      %s\n", state.PrometheusURL)
	}
	fmt.Printf("namespaces   %s %s\nlogs         %s\n", l.ServerNamespace(), l.ClientNamespace(), l.Dir())
	if !whole {
		return problem{fmt.Errorf("lab %s is not whole", l.Name)}
	}
	return nil
}

// childExit is the exit code of a command that was run on behalf of the user,
// who has seen its own message.
type childExit struct{ code int }

func (e childExit) Error() string { return fmt.Sprint("exit code ", e.code) }

func exitAs(err error) error {
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		return childExit{e.ExitCode()}
	}
	return err
}
