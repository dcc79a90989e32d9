package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"piecebench/internal/direct"
)

// sample is what a process holds.
type sample struct {
	residentMB              float64
	descriptors, goroutines int
}

// look asks the system, and k6 at its address api.
func look(pid int, api string) (s sample, err error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return s, err
	}
	status, err := p.NewStatus()
	if err != nil {
		return s, err
	}
	s.residentMB = float64(status.VmRSS) / 1e6
	if s.descriptors, err = p.FileDescriptorsLen(); err != nil {
		return s, err
	}
	client := http.Client{Transport: direct.Transport()}
	resp, err := client.Get("http://" + api + "/debug/pprof/goroutine?debug=1")
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
