package netem

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/procfs"

	"piecebench/host"
	"piecebench/netem/client"
)

// Server is what /procs reports as one: the processes that listen on a port, and those
// of further commands, such as those of a file system that it serves, if they are in
// the agent's network namespace.
type Server struct {
	Port     int
	Commands []string
}

// ParseServer reads PORT or PORT=COMMAND+COMMAND.
func ParseServer(text string) (s Server, err error) {
	port, commands, further := strings.Cut(text, "=")
	if s.Port, err = strconv.Atoi(port); err != nil || s.Port < 1 || s.Port > 65535 {
		return s, fmt.Errorf("port %s is not a TCP port: use --ports 8080,7777", port)
	}
	if further {
		s.Commands = strings.Split(commands, "+")
	}
	return s, nil
}

// procReader finds the processes of the servers, and reads their CPU time and memory.
type procReader struct {
	proc    procfs.FS
	servers []Server

	mu      sync.Mutex
	holders []holder // found last
}

// holder is a process of the server on a port: one that has a descriptor of a socket
// that listens there, or one of a further command.
type holder struct {
	port, pid    int
	listens      bool
	path, target string // /proc/PID/fd/N -> socket:[INODE], or /proc/PID/ns/net -> net:[INODE]
}

// holds says whether the process is still there, and still has the socket.
func (h holder) holds() bool {
	target, err := os.Readlink(h.path)
	return err == nil && target == h.target
}

func newProcReader(servers []Server) (*procReader, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, fmt.Errorf("read /proc: %w", err)
	}
	return &procReader{proc: proc, servers: servers}, nil
}

// clockTicks is USER_HZ, which is 100 on every architecture that Linux has with Go.
const clockTicks = 100

func (r *procReader) read() (client.Procs, error) {
	var out client.Procs
	stat, err := r.proc.Stat()
	if err != nil {
		return out, fmt.Errorf("read the host's CPU times: %w", err)
	}
	out.Host = host.CPUTimeOf(stat)
	if out.Agent, err = r.usage([]int{os.Getpid()}); err != nil {
		return out, err
	}
	owners, seen, err := r.owners()
	if err != nil {
		return out, err
	}
	for _, s := range r.servers {
		port := s.Port
		p := client.Proc{Port: port, PIDs: owners[port]}
		switch {
		case len(p.PIDs) > 0:
			p.Command = r.command(p.PIDs[0])
		case slices.Contains(seen, port):
			p.Problem = "a process listens, but is not to be seen from here: share its PID namespace with the agent, and give the agent CAP_SYS_PTRACE"
		default:
			p.Problem = client.NothingListens
		}
		if p.Usage, err = r.usage(p.PIDs); err != nil {
			return out, err
		}
		out.Procs = append(out.Procs, p)
	}
	return out, nil
}

// readWithThreads also reads the CPU time of each thread. This takes one file per
// thread, too much for every scrape.
func (r *procReader) readWithThreads() (client.Procs, error) {
	out, err := r.read()
	if err != nil {
		return out, err
	}
	for i := range out.Procs {
		p := &out.Procs[i]
		if len(p.PIDs) == 0 {
			continue
		}
		// One that has ended meanwhile has no limit: there is none to report.
		limit, _ := host.CPULimitOf(p.PIDs...)
		p.AllowedCPUs, p.QuotaPeriods, p.ThrottledPeriods = limit.CPUs, limit.Periods, limit.Throttled
		p.ThreadSeconds = map[int]float64{}
		for _, pid := range p.PIDs {
			p.Stopped = p.Stopped || r.stopped(pid)
			threads, _ := r.proc.AllThreads(pid)
			for _, thread := range threads {
				if stat, err := thread.Stat(); err == nil {
					p.ThreadSeconds[thread.PID] = float64(stat.UTime+stat.STime) / clockTicks
				}
			}
		}
	}
	return out, nil
}

// owners returns, by port, the processes of each server, lowest PID (nginx: the
// master) first, and the ports on which anything listens. The search
// reads every socket and every descriptor: 50 ms of CPU time with 2000 connections. It
// is repeated only if a process no longer holds its socket, or if a port has none.
func (r *procReader) owners() (byPort map[int][]int, seen []int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if byPort := pidsByPort(r.holders); len(byPort) == len(r.servers) && !slices.ContainsFunc(r.holders, func(h holder) bool { return !h.holds() }) {
		return byPort, slices.Collect(maps.Keys(byPort)), nil
	}
	sockets, err := host.ListeningSockets(r.proc)
	if err != nil {
		return nil, nil, err
	}
	ports := map[uint64]int{} // by inode
	for _, s := range sockets {
		ports[s.Inode] = s.Port
	}
	r.holders = nil
	// Processes end during the search, and some are not accessible: Glob skips both.
	descriptors, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, path := range descriptors {
		socket, err := os.Readlink(path)
		if err != nil {
			continue
		}
		number, ok := strings.CutPrefix(socket, "socket:[")
		if !ok {
			continue
		}
		inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64)
		if err != nil {
			continue
		}
		port, ok := ports[inode]
		if !ok || !slices.ContainsFunc(r.servers, func(s Server) bool { return s.Port == port }) {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(path, "/")[2]); err == nil {
			r.holders = append(r.holders, holder{port, pid, true, path, socket})
		}
	}
	if err := r.addCommands(); err != nil {
		return nil, nil, err
	}
	return pidsByPort(r.holders), slices.Collect(maps.Values(ports)), nil
}

// addCommands adds the processes of further commands to the holders.
func (r *procReader) addCommands() error {
	if !slices.ContainsFunc(r.servers, func(s Server) bool { return s.Commands != nil }) {
		return nil
	}
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return err
	}
	all, err := r.proc.AllProcs()
	if err != nil {
		return err
	}
	for _, p := range all {
		h := holder{pid: p.PID, path: fmt.Sprintf("/proc/%d/ns/net", p.PID), target: own}
		if !h.holds() {
			continue
		}
		command := r.command(p.PID)
		for _, s := range r.servers {
			if slices.Contains(s.Commands, command) {
				h.port = s.Port
				r.holders = append(r.holders, h)
			}
		}
	}
	return nil
}

// pidsByPort returns each port's processes, lowest PID first, if one of them listens.
func pidsByPort(holders []holder) map[int][]int {
	byPort := map[int][]int{}
	for _, h := range holders {
		if !slices.ContainsFunc(holders, func(other holder) bool { return other.listens && other.port == h.port }) {
			continue
		}
		if !slices.Contains(byPort[h.port], h.pid) {
			byPort[h.port] = append(byPort[h.port], h.pid)
		}
	}
	for _, pids := range byPort {
		slices.Sort(pids)
	}
	return byPort
}

func (r *procReader) command(pid int) string {
	p, err := r.proc.Proc(pid)
	if err != nil {
		return ""
	}
	name, _ := p.Comm()
	return name
}

// stopped says whether a process is stopped; one that has ended is not.
func (r *procReader) stopped(pid int) bool {
	p, err := r.proc.Proc(pid)
	if err != nil {
		return false
	}
	stat, err := p.Stat()
	return err == nil && (stat.State == "T" || stat.State == "t")
}

// usage sums over processes. One that ends meanwhile counts as 0.
func (r *procReader) usage(pids []int) (client.Usage, error) {
	u := client.Usage{Memory: "pss"}
	for _, pid := range pids {
		p, err := r.proc.Proc(pid)
		if err != nil {
			continue
		}
		stat, err := p.Stat()
		if err != nil {
			continue
		}
		u.CPUSeconds += float64(stat.UTime+stat.STime) / clockTicks
		memory, err := p.ProcSMapsRollup()
		if err != nil {
			u.Memory = "rss"
			u.RSSBytes += int64(stat.ResidentMemory())
			continue
		}
		u.RSSBytes += int64(memory.Pss)
	}
	return u, nil
}
