package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/procfs"

	"piecebench/host"
)

// fewestCPUs that leave one each to the generator, the servers and the link, and
// one to the kernel's interrupts and the rest of the machine.
const fewestCPUs = 4

func cpus(h *Host) (Finding, error) {
	if h.CPUs >= fewestCPUs {
		return clean, nil
	}
	return distorts(fmt.Sprintf("a machine with %d CPUs or more; else trust ratios of cells that are not limited by host", fewestCPUs), "%d CPUs do the work of servers, link and clients: with many clients, or at 10 Gbit/s, they compete", h.CPUs)
}

func governor(h *Host) (Finding, error) {
	others := map[string]int{}
	files := h.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
	for _, file := range files {
		if g := h.read(file); g != "performance" {
			others[g]++
		}
	}
	for g, n := range others {
		return distorts("echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor", "%d of %d CPUs have the frequency governor %s: their speed depends on what ran before", n, len(files), g)
	}
	return clean, nil
}

// slowClocks are sources that have no vDSO: reading the time is a system call,
// and of most of them a device's register too.
var slowClocks = []string{"hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies", "xen"}

func clockSource(h *Host) (Finding, error) {
	const dir = "/sys/devices/system/clocksource/clocksource0/"
	current := h.read(dir + "current_clocksource")
	if !slices.Contains(slowClocks, current) {
		return clean, nil
	}
	fix := "a kernel or a hypervisor that has tsc or kvm-clock"
	for _, better := range strings.Fields(h.read(dir + "available_clocksource")) {
		if !slices.Contains(slowClocks, better) {
			fix = fmt.Sprintf("echo %s | sudo tee %scurrent_clocksource", better, dir)
			break
		}
	}
	return distorts(fix, "the time comes from %s: each time stamp is a system call", current)
}

// cpuTime is what all CPUs did while nothing of ours ran.
type cpuTime struct {
	busy, stolen float64 // shares of all CPU time, 0 to 1
	top          []string
}

// cpuTime looks at the CPUs twice, once for all checks.
func (h *Host) cpuTime() (cpuTime, error) {
	if h.sample == nil {
		h.sample = sync.OnceValues(h.sampleCPU)
	}
	return h.sample()
}

func (h *Host) sampleCPU() (sample cpuTime, err error) {
	before, err := h.ticks()
	if err != nil {
		return sample, err
	}
	h.Pause()
	after, err := h.ticks()
	if err != nil {
		return sample, err
	}
	total := after.all - before.all
	if total <= 0 {
		return sample, errors.New("/proc/stat does not count")
	}
	sample.busy = (after.busy - before.busy) / total
	sample.stolen = (after.stolen - before.stolen) / total
	share := func(pid int) float64 {
		earlier := before.processes[pid] // zero for a new one
		return (after.processes[pid].CPUTime() - earlier.CPUTime()) / total
	}
	delete(after.processes, os.Getpid())
	busiest := slices.SortedFunc(maps.Keys(after.processes), func(a, b int) int { return cmp.Compare(share(b), share(a)) })
	for _, pid := range busiest[:min(3, len(busiest))] {
		if share(pid) >= 0.01 {
			sample.top = append(sample.top, fmt.Sprintf("%s %.0f %%", after.processes[pid].Comm, 100*share(pid)))
		}
	}
	return sample, nil
}

// ticks are seconds of CPU time since the machine started.
type ticks struct {
	all, busy, stolen float64
	processes         map[int]procfs.ProcStat
}

func (h *Host) ticks() (ticks, error) {
	proc, err := h.proc()
	if err != nil {
		return ticks{}, err
	}
	stat, err := proc.Stat()
	if err != nil {
		return ticks{}, err
	}
	cpu, stolen := host.CPUTimeOf(stat), stat.CPUTotal.Steal
	t := ticks{all: cpu.Busy + cpu.Idle, busy: cpu.Busy - stolen, stolen: stolen, processes: map[int]procfs.ProcStat{}}
	all, err := proc.AllProcs()
	if err != nil {
		return ticks{}, err
	}
	for _, p := range all {
		if s, err := p.Stat(); err == nil { // else it has ended
			t.processes[p.PID] = s
		}
	}
	return t, nil
}

// Shares of all CPU time from which a second of it is told. 5 % is what a
// comparison calls a difference that noise must not hide (docs/METHODOLOGY.md);
// what the hypervisor takes is seen by no process and so told sooner.
const (
	muchLoad  = 0.05
	muchSteal = 0.01
)

func steal(h *Host) (Finding, error) {
	t, err := h.cpuTime()
	if err != nil || t.stolen < muchSteal {
		return clean, err
	}
	return distorts("a machine with CPUs of its own, or REPEAT=5, which shows how much it varies", "the hypervisor gave %.1f %% of this machine's CPU time to others just now", 100*t.stolen)
}

func load(h *Host) (Finding, error) {
	t, err := h.cpuTime()
	if err != nil || t.busy < muchLoad {
		return clean, err
	}
	top := ""
	if len(t.top) > 0 {
		top = ": " + strings.Join(t.top, ", ")
	}
	return distorts("end them, or wait: top -o %CPU", "other processes keep %.0f %% of all CPUs busy just now%s", 100*t.busy, top)
}
