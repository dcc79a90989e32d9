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
