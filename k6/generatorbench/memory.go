package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// The clients of the memory checks, and what k6 may hold with them, in MB of 1e6 bytes.
const (
	manyClients = 1000
	maxResident = 250
)

// sample is what a process holds.
type sample struct {
	residentMB, peakMB      float64
	descriptors, goroutines int
}

func look(pid int, api string) (s sample, err error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return s, err
	}
	status, err := p.NewStatus()
	if err != nil {
		return s, err
	}
	s.residentMB, s.peakMB = float64(status.VmRSS)/1e6, float64(status.VmHWM)/1e6
	if s.descriptors, err = p.FileDescriptorsLen(); err != nil || api == "" {
		return s, err
	}
	resp, err := http.Get("http://" + api + "/debug/pprof/goroutine?debug=1")
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err == nil {
		_, err = fmt.Sscanf(line, "goroutine profile: total %d", &s.goroutines)
	}
	return s, err
}

// resident measures the peak of the resident memory with many clients.
func (b *bench) resident() (ok bool, err error) {
	var peak float64
	for _, checked := range []bool{false, true} {
		cmd := b.retrievalCommand(task{length: mib, checked: checked}, manyClients, 2*b.duration, "")
		err := b.during(cmd, 200*time.Millisecond, "", func(s sample) { peak = max(peak, s.peakMB) })
		if err != nil {
			return false, err
		}
	}
	fmt.Printf("\n%d clients, 1 MiB ranges: %.0f MB resident at most, %s\n", manyClients, peak, verdict(peak, maxResident, "%.0f"))
	return peak <= maxResident, nil
}

// during runs cmd and calls see with samples of it.
func (b *bench) during(cmd *exec.Cmd, every time.Duration, api string, see func(sample)) error {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("k6: %w: %s", err, strings.TrimSpace(stderr.String()))
			}
			return nil
		case <-time.After(every):
			if s, err := look(cmd.Process.Pid, api); err == nil { // else it is starting or ending
				see(s)
			}
		}
	}
}

// watch runs many clients for a long time, and compares what k6 holds after
// the first tenth with the end.
func (b *bench) watch(d time.Duration) error {
	api, err := freeAddress()
	if err != nil {
		return err
	}
	var seen []sample
	start := time.Now()
	fmt.Printf("%8s %12s %12s %12s\n", "seconds", "resident MB", "descriptors", "goroutines")
	cmd := b.retrievalCommand(task{length: mib}, manyClients, d, api)
	err = b.during(cmd, max(d/20, time.Second), api, func(s sample) {
		seen = append(seen, s)
		fmt.Printf("%8.0f %12.0f %12d %12d\n", time.Since(start).Seconds(), s.residentMB, s.descriptors, s.goroutines)
	})
	if err != nil {
		return err
	}
	if len(seen) < 4 {
		return fmt.Errorf("only %d samples: use a longer -soak", len(seen))
	}
	p, err := b.progress()
	if err != nil {
		return err
	}
	early, late := seen[1:1+len(seen)/4], seen[len(seen)-1-len(seen)/4:len(seen)-1]
	fmt.Printf("\n%d requests, %d failed, %.1f TB\n", p.OK+p.Failed, p.Failed, float64(p.Bytes)/1e12)
	grown := false
	for _, v := range []struct {
		name  string
		of    func(sample) float64
		slack float64 // growth that is noise: garbage not yet collected, descriptors of a flush
	}{
		{"resident MB", func(s sample) float64 { return s.residentMB }, 30},
		{"descriptors", func(s sample) float64 { return float64(s.descriptors) }, 10},
		{"goroutines", func(s sample) float64 { return float64(s.goroutines) }, 50},
	} {
		before, after := mean(early, v.of), mean(late, v.of)
		word := "ok"
		if after > before+v.slack {
			word, grown = "GROWN", true
		}
		fmt.Printf("%-12s %8.0f -> %8.0f  %s\n", v.name, before, after, word)
	}
	if grown || p.Failed > 0 {
		return errMissed
	}
	return nil
}

func mean(samples []sample, of func(sample) float64) float64 {
	sum := 0.0
	for _, s := range samples {
		sum += of(s)
	}
	return sum / float64(len(samples))
}
