package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"piecebench/bench/settings"
	"piecebench/lab"
	"piecebench/netem"
)

// Host is the machine that is examined, and the run that it is to do. All
// evidence comes through it.
type Host struct {
	Settings       settings.Settings
	Data           string // the dataset's folder
	PrometheusPort int    // of 127.0.0.1
	GrafanaPort    int    // of 127.0.0.1; containers only

	Root        string // folder that holds proc, sys and etc
	UID         int    // this process's, effective
	CPUs        int    // that this process may use
	Descriptors uint64 // that this process may have, at most

	LookPath  func(program string) (string, error)
	Run       func(argv ...string) (stdout string, err error)
	Isolated  func(argv ...string) error                         // runs in a network namespace of its own, which goes with it
	Labs      func() ([]Lab, error)                              // that are there
	Shaped    func() (devices []string, running bool, err error) // by a link agent of this namespace, and whether it runs
	ReadSpeed func(path string) (bytesPerS float64, err error)   // past the page cache
	Pause     func()                                             // between two looks at what processes do

	engine *string                 // why containers cannot be used; empty if they can
	sample func() (cpuTime, error) // what CPUs did during a pause
}

// Lab is a native lab of which something is there.
type Lab struct {
	Name  string
	Whole bool // every part of it listens
}

// This returns the machine that the program runs on.
func This(s settings.Settings, data string, prometheusPort, grafanaPort int) *Host {
	var limit unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) // fails for no reason that could be here
	return &Host{
		Settings: s, Data: data, PrometheusPort: prometheusPort, GrafanaPort: grafanaPort,
		Root: "/", UID: os.Geteuid(), CPUs: goruntime.NumCPU(), Descriptors: limit.Max,
		LookPath: exec.LookPath, Run: run, Isolated: isolated, Labs: findLabs, Shaped: shaped, ReadSpeed: readSpeed,
		Pause: func() { time.Sleep(time.Second) },
	}
}

// patience bounds how long a program may take: a Docker engine that hangs
// answers no command.
const patience = 10 * time.Second

func run(argv ...string) (string, error) { return output(nil, argv) }

func isolated(argv ...string) error {
	_, err := output(&syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}, argv)
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		return fmt.Errorf("%s: %s", strings.Join(argv, " "), strings.TrimSpace(string(e.Stderr)))
	}
	return err
}

func output(attributes *syscall.SysProcAttr, argv []string) (string, error) {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = attributes
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

func findLabs() ([]Lab, error) {
	there, err := lab.All()
	var labs []Lab
	for _, l := range there {
		state, err := l.State()
		whole := err == nil
		for _, part := range l.Status(state) {
			whole = whole && part.Listening
		}
		labs = append(labs, Lab{l.Name, whole})
	}
	return labs, err
}

func shaped() (devices []string, running bool, err error) {
	devices, err = netem.Left()
	return devices, netem.Running(), err
}

// native says whether make bench would run the native lab here.
func (h *Host) native() bool {
	switch h.Settings.Runtime {
	case "native":
		return true
	case "compose":
		return false
	}
	return h.noEngine() != ""
}

func (h *Host) proc() (procfs.FS, error) { return procfs.NewFS(filepath.Join(h.Root, "proc")) }

// read returns the text of a file below the root; empty where there is none.
func (h *Host) read(path string) string {
	text, err := os.ReadFile(filepath.Join(h.Root, path))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// glob returns the files below the root that match.
func (h *Host) glob(pattern string) (paths []string) {
	matches, _ := filepath.Glob(filepath.Join(h.Root, pattern)) // the patterns are well-formed
	for _, m := range matches {
		if path, err := filepath.Rel(h.Root, m); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}
