package netem

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"

	"piecebench/netem/client"
)

// procReader finds the processes that listen on the servers' ports, and what
// they have used.
type procReader struct {
	proc  procfs.FS
	ports []int
}

func newProcReader(ports []int) (*procReader, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, fmt.Errorf("read /proc: %w", err)
	}
	return &procReader{proc: proc, ports: ports}, nil
}

// clockTicks is USER_HZ, which is 100 on every architecture that Linux has with Go.
const clockTicks = 100

func (r *procReader) read() (client.Procs, error) {
	var out client.Procs
	stat, err := r.proc.Stat()
	if err != nil {
		return out, fmt.Errorf("read the host's CPU times: %w", err)
	}
	t := stat.CPUTotal
	out.Host = client.Host{
		CPUs:        len(stat.CPU),
		BusySeconds: t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ + t.Steal,
		IdleSeconds: t.Idle + t.Iowait,
	}
	if out.Agent, err = r.usage([]int{os.Getpid()}); err != nil {
		return out, err
	}
	listeners, err := r.listeners()
	if err != nil {
		return out, err
	}
	owners := r.owners(listeners)
	for _, port := range r.ports {
		p := client.Proc{Port: port, PIDs: owners[port]}
		switch {
		case len(p.PIDs) > 0:
			p.Command = r.command(p.PIDs[0])
		case slices.Contains(sortedPorts(listeners), port):
			p.Problem = "a process listens, but is not to be seen from here: share its PID namespace with the agent, and give the agent CAP_SYS_PTRACE"
		default:
			p.Problem = "nothing listens on this port"
		}
		if p.Usage, err = r.usage(p.PIDs); err != nil {
			return out, err
		}
		out.Procs = append(out.Procs, p)
	}
	return out, nil
}

// listeners returns the ports of this network namespace's listening TCP
// sockets by the sockets' inodes.
func (r *procReader) listeners() (map[uint64]int, error) {
	const listen = 0x0A // TCP_LISTEN
	byInode := map[uint64]int{}
	for _, read := range []func() (procfs.NetTCP, error){r.proc.NetTCP, r.proc.NetTCP6} {
		sockets, err := read()
		if os.IsNotExist(err) { // no IPv6
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the listening sockets: %w", err)
		}
		for _, s := range sockets {
			if s.St == listen {
				byInode[s.Inode] = int(s.LocalPort)
			}
		}
	}
	return byInode, nil
}

func sortedPorts(listeners map[uint64]int) []int {
	var ports []int
	for _, port := range listeners {
		ports = append(ports, port)
	}
	slices.Sort(ports)
	return ports
}

// owners returns, by port, the processes that hold a listening socket, lowest
// PID (nginx: the master) first.
func (r *procReader) owners(listeners map[uint64]int) map[int][]int {
	byPort := map[int][]int{}
	// Processes end while this looks, and some may not be looked into: a pattern
	// of file names passes over both.
	descriptors, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, path := range descriptors {
		target, err := os.Readlink(path)
		if err != nil {
			continue
		}
		number, ok := strings.CutPrefix(target, "socket:[")
		if !ok {
			continue
		}
		inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64)
		if err != nil {
			continue
		}
		port, ok := listeners[inode]
		if !ok {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(path, "/")[2])
		if err == nil && !slices.Contains(byPort[port], pid) {
			byPort[port] = append(byPort[port], pid)
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

// usage sums over processes. One that ends meanwhile counts as nothing.
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
