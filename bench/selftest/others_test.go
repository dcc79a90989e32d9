package selftest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// others measures what work that is not the test's takes of this machine's CPUs, so
// that a wrong figure is not excused by what the program under test says of itself.
type others struct {
	own     func(pid string) bool
	mu      sync.Mutex
	samples []usage
}

// usage is CPU time since the machine started, in seconds.
type usage struct {
	at        time.Time
	busy, own float64
}

const tick = 0.01 // seconds: the kernel's unit in /proc

// watchOthers measures until the test ends. Own are this process, programs below a
// folder, and all in the named network namespaces.
func watchOthers(t *testing.T, folder string, namespaces ...string) *others {
	t.Helper()
	o := &others{own: func(pid string) bool {
		if exe, err := os.Readlink(filepath.Join("/proc", pid, "exe")); pid == strconv.Itoa(os.Getpid()) || err == nil && strings.HasPrefix(exe, folder+"/") {
			return true
		}
		in, err := os.Stat(filepath.Join("/proc", pid, "ns/net"))
		for _, name := range namespaces {
			if of, err2 := os.Stat(filepath.Join("/run/netns", name)); err == nil && err2 == nil && os.SameFile(in, of) {
				return true
			}
		}
		return false
	}}
	last := map[string]float64{} // of own processes, also of those that have ended
	sample := func() {
		u := usage{at: time.Now(), busy: busySeconds(t)}
		processes, _ := filepath.Glob("/proc/[0-9]*")
		for _, dir := range processes {
			if pid := filepath.Base(dir); o.own(pid) {
				if seconds, ok := processSeconds(dir); ok {
					last[pid] = seconds
				}
			}
		}
		for _, seconds := range last {
			u.own += seconds
		}
		o.mu.Lock()
		o.samples = append(o.samples, u)
		o.mu.Unlock()
	}
	sample()
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ended:
				return
			case <-time.After(200 * time.Millisecond):
				sample()
			}
		}
	}()
	t.Cleanup(func() { close(ended); <-done })
	return o
}

// share is what others took of all CPUs, 0 to 1, between two times.
func (o *others) share(from, to time.Time) float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	first, last := o.samples[0], o.samples[len(o.samples)-1]
	for _, u := range o.samples {
		if u.at.Before(from) {
			first = u
		}
	}
	for i := len(o.samples) - 1; i >= 0 && o.samples[i].at.After(to); i-- {
		last = o.samples[i]
	}
	seconds := last.at.Sub(first.at).Seconds() * float64(runtime.NumCPU())
	return max(0, last.busy-first.busy-(last.own-first.own)) / max(seconds, tick)
}

// fill tells that they took so much that what is measured is theirs.
func (o *others) fill(from, to time.Time) bool { return o.share(from, to) > 0.4 }

// busySeconds are those of all CPUs but idle ones, and those that other virtual
// machines took.
func busySeconds(t *testing.T) (seconds float64) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Error(err)
		return 0
	}
	line, _, _ := strings.Cut(string(data), "\n")
	const idle, iowait, guest = 4, 5, 9
	for i, field := range strings.Fields(line) {
		if v, err := strconv.ParseFloat(field, 64); err == nil && i != idle && i != iowait && i < guest {
			seconds += v * tick
		}
	}
	return seconds
}

// processSeconds are the CPU time of a process, user and system.
func processSeconds(dir string) (seconds float64, ok bool) {
	data, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(data), ") ") // after a name that may hold blanks
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, false
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) * tick, true
}

// What the program under test burns is no excuse for it; what others do is.
func TestOnlyTheWorkOfOthersIsAnExcuse(t *testing.T) {
	folder := t.TempDir()
	own := filepath.Join(folder, "own")
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, shell, 0o755); err != nil {
		t.Fatal(err)
	}
	o := watchOthers(t, folder)
	burn := func(program string) (of string) {
		cmd := exec.CommandContext(t.Context(), program, "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return strconv.Itoa(cmd.Process.Pid)
	}
	ours, foreign := burn(own), burn("/bin/sh")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		a, _ := processSeconds("/proc/" + ours)
		b, _ := processSeconds("/proc/" + foreign)
		if a > 0.3 && b > 0.3 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("two busy programs got no CPU")
		}
	}
	if !o.own(ours) || o.own(foreign) || !o.own(strconv.Itoa(os.Getpid())) {
		t.Errorf("own: ours %v, another %v", o.own(ours), o.own(foreign))
	}
	// The other one alone took 0.3 s.
	if got := o.share(time.Time{}, time.Now()); got <= 0 {
		t.Errorf("others took %v of the CPUs", got)
	}
}
