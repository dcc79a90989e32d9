package doctor

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

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
	err          error
}

// cpuTime looks at the CPUs twice, once for all checks.
func (h *Host) cpuTime() *cpuTime {
	if h.sample != nil {
		return h.sample
	}
	h.sample = new(cpuTime)
	before, err := h.ticks()
	if err != nil {
		h.sample.err = err
		return h.sample
	}
	h.Pause()
	after, err := h.ticks()
	if err != nil {
		h.sample.err = err
		return h.sample
	}
	total := after.all - before.all
	if total <= 0 {
		h.sample.err = fmt.Errorf("/proc/stat does not count")
		return h.sample
	}
	h.sample.busy = (after.busy - before.busy) / total
	h.sample.stolen = (after.stolen - before.stolen) / total

	type use struct {
		name  string
		share float64
	}
	var uses []use
	for pid, p := range after.processes {
		if pid == os.Getpid() {
			continue
		}
		if share := (p.seconds - before.processes[pid].seconds) / total; share >= 0.01 {
			uses = append(uses, use{p.name, share})
		}
	}
	slices.SortFunc(uses, func(a, b use) int { return cmp.Compare(b.share, a.share) })
	for _, u := range uses[:min(3, len(uses))] {
		h.sample.top = append(h.sample.top, fmt.Sprintf("%s %.0f %%", u.name, 100*u.share))
	}
	return h.sample
}

// ticks are seconds of CPU time since the machine started.
type ticks struct {
	all, busy, stolen float64
	processes         map[int]process
}

type process struct {
	name    string
	seconds float64
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
	t := ticks{all: cpu.Busy + cpu.Idle, busy: cpu.Busy - stolen, stolen: stolen, processes: map[int]process{}}
	all, err := proc.AllProcs()
	if err != nil {
		return ticks{}, err
	}
	for _, p := range all {
		if s, err := p.Stat(); err == nil { // else it has ended
			t.processes[p.PID] = process{s.Comm, s.CPUTime()}
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
	t := h.cpuTime()
	switch {
	case t.err != nil:
		return clean, t.err
	case t.stolen < muchSteal:
		return clean, nil
	}
	return distorts("a machine with CPUs of its own, or REPEAT=5, which shows how much it varies", "the hypervisor gave %.1f %% of this machine's CPU time to others just now", 100*t.stolen)
}

func load(h *Host) (Finding, error) {
	t := h.cpuTime()
	switch {
	case t.err != nil:
		return clean, t.err
	case t.busy < muchLoad:
		return clean, nil
	}
	top := ""
	if len(t.top) > 0 {
		top = ": " + strings.Join(t.top, ", ")
	}
	return distorts("end them, or wait: top -o %CPU", "other processes keep %.0f %% of all CPUs busy just now%s", 100*t.busy, top)
}
