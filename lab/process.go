package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"piecebench/host"
)

// part is one process of the lab.
type part struct {
	name      string
	namespace string
	port      int    // that it listens on in its namespace; 0: none
	piece     string // URL of one that it must deliver; empty: none
	argv      []string
	load      []string   // command that runs before argv, to its end; empty: none
	files     []*os.File // inherited from descriptor 3 on
}

// parts returns the link agent and the servers, in the order they start.
func (l Lab) parts(cfg Config) ([]part, error) {
	recipes := cfg.servers()
	agent := part{name: "link agent", namespace: l.ServerNamespace(), port: agentPort, argv: []string{
		cfg.agent(), "--device", shapedDevice, "--listen", fmt.Sprint(":", agentPort), "--backend", cfg.Backend, "--ports", AgentPorts(recipes)}}
	parts := []part{agent}
	for _, r := range recipes {
		if r.StubStatus != "" {
			parts[0].argv = append(parts[0].argv, "--nginx-status", fmt.Sprintf("http://127.0.0.1:%d%s", r.Port, r.StubStatus))
		}
		server, err := l.server(cfg, r)
		if err != nil {
			return nil, err
		}
		parts = append(parts, server)
	}
	return parts, nil
}

// asUser returns argv run as a user that can become nobody else.
func asUser(uid, gid uint32, argv ...string) []string {
	return append([]string{"setpriv", fmt.Sprint("--reuid=", uid), fmt.Sprint("--regid=", gid), "--clear-groups", "--no-new-privs"}, argv...)
}

func (p part) logName() string { return strings.ReplaceAll(p.name, " ", "-") + ".log" }

// raiseDescriptors raises the limit of descriptors for what this process starts.
// Otherwise Go gives its children the soft limit that it found, usually 1024, and
// nginx raises its own only if the hard limit is as high as nginx.conf says.
func raiseDescriptors() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	limit.Cur = limit.Max
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
}

// startTimeout bounds how long a part may take until it answers.
const startTimeout = time.Minute

// start starts a part in its namespace, and waits until it answers. The part has its
// own session: a terminal's Ctrl-C does not reach it. A part that does not answer in
// time is killed.
func (l Lab) start(c commands, p part) error {
	logPath := filepath.Join(l.Dir(), p.logName())
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	if p.load != nil {
		if err := p.command(c, log, p.load).Run(); err != nil {
			return fmt.Errorf("the dataset was not loaded into %s (%w); the end of its log: %s", p.name, err, lastLines(logPath, 3))
		}
	}
	cmd := p.command(c, log, p.argv)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	deadline := time.After(startTimeout)
	for {
		// Until `ip netns exec` has entered the namespace, the process still
		// shows the host's sockets.
		if inNamespace(cmd.Process.Pid, p.namespace) && (p.port == 0 || listens(cmd.Process.Pid, p.port)) && p.answers() {
			return nil
		}
		select {
		case err := <-exited:
			return fmt.Errorf("%s did not start (%v); the end of its log: %s", p.name, err, lastLines(logPath, 3))
		case <-deadline:
			_ = cmd.Process.Kill() // an error means that it has ended
			return fmt.Errorf("%s does not answer on port %d after %s; the end of its log: %s", p.name, p.port, startTimeout, lastLines(logPath, 3))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// command returns argv as a command of the part.
func (p part) command(c commands, log *os.File, argv []string) *exec.Cmd {
	argv = append([]string{"ip", "netns", "exec", p.namespace}, argv...)
	fmt.Fprintln(c.log, "+", strings.Join(argv, " "))
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, p.files
	// Nothing else of this process's: GOMAXPROCS, GOGC or HTTP_PROXY would change what
	// is measured, and no result would say so.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

func inNamespace(pid int, namespace string) bool {
	own, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid), "ns/net"))
	if err != nil {
		return false
	}
	named, err := os.Stat(filepath.Join(namespaces, namespace))
	return err == nil && os.SameFile(own, named)
}

// listening says whether anything listens on the part's port.
func (p part) listening() bool {
	if !namespaceExists(p.namespace) {
		return false
	}
	pids, _ := processesIn(p.namespace)
	return len(pids) > 0 && listens(pids[0], p.port)
}

// listens says whether anything listens on a TCP port in the network namespace
// of a process.
func listens(pid, port int) bool {
	proc, err := procfs.NewFS(filepath.Join("/proc", strconv.Itoa(pid)))
	if err != nil {
		return false
	}
	sockets, _ := host.ListeningSockets(proc) // of a process that has ended: none
	return slices.ContainsFunc(sockets, func(s host.ListeningSocket) bool { return s.Port == port })
}

func lastLines(path string, n int) string {
	data, err := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if err != nil || lines[0] == "" {
		return "(empty)"
	}
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}

// stopTimeout is how long processes have to end by themselves.
const stopTimeout = 5 * time.Second

// stop ends every process in a namespace: asked first, then killed.
func (l Lab) stop(c commands, namespace string) error {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		// Asked are those that are there now: what they start on their way out
		// (the link agent's tc) has to end by itself.
		pids, err := processesIn(namespace)
		if err != nil {
			return err
		}
		for _, pid := range pids {
			fmt.Fprintln(c.log, "+ kill -s", int(signal), pid)
			if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("ending process %d: %w", pid, err)
			}
		}
		for deadline := time.Now().Add(stopTimeout); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if pids, err := processesIn(namespace); err != nil || len(pids) == 0 {
				return err
			}
		}
	}
	return fmt.Errorf("processes in namespace %s do not end: ip netns pids %s names them", namespace, namespace)
}

// processesIn returns the processes in a network namespace, this one left out.
func processesIn(namespace string) ([]int, error) {
	out, err := commands{io.Discard}.output("ip", "netns", "pids", namespace)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, field := range strings.Fields(out) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("ip netns pids %s: %w", namespace, err)
		}
		if pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
