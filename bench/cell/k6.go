package cell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"piecebench/bench/plan"
	"piecebench/internal/plain"
	"piecebench/records"
)

// process is one running k6.
type process struct {
	cmd      *exec.Cmd
	exited   chan struct{} // closed when k6 has ended, with err
	err      error
	ended    bool // what exited had to say was heard
	log      string
	progress string
	limit    time.Duration // from the first progress to the end
}

// start starts k6 for a cell.
func (s Setup) start(c plan.Cell, to files) (*process, error) {
	p := &process{
		exited:   make(chan struct{}),
		log:      to.logs + k6Log,
		progress: to.logs + progressLog,
		limit:    s.Settings.Warmup + s.Settings.Duration + endTimeout,
	}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := []string{"run", "--quiet", "--summary-mode=disabled", "--no-thresholds", "--no-usage-report", "--address", ""}
	if s.WriteURL != "" {
		args = append(args, "--out", "xk6-prometheus-rw")
	}
	p.cmd = exec.Command(s.K6, append(args, s.Script)...)
	p.cmd.Env = s.environment(c, to)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	// A process group of its own: Ctrl-C reaches k6 through the runner alone. And
	// however the runner ends, k6 does: load without one who measures it is an attack.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// The signal comes when the thread ends that started k6.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
		}
		close(p.exited)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting k6: %w", err)
	}
	return p, nil
}

// cpuTime returns the CPU time of k6 in seconds, user and system, also after
// its end.
func (p *process) cpuTime() (float64, error) {
	if p.ended {
		return (p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()).Seconds(), nil
	}
	proc, err := procfs.NewProc(p.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	stat, err := proc.Stat()
	return stat.CPUTime(), err
}

// kill ends k6 if it still runs, and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error means that it has ended
	<-p.exited
}

// follow reads k6's progress until k6 ends, handing each line to observe and
// calling tick all the while. When ctx ends, k6 is asked to end, and the error
// is ctx's. A k6 that has written its last line and does not exit is killed:
// its records are complete, and all that it still can wait for is Prometheus.
func (p *process) follow(ctx context.Context, observe func(records.Progress), tick func() error) error {
	var file *os.File
	defer func() {
		if file != nil {
			file.Close()
		}
	}()
	var unread []byte
	var last records.Progress
	poll := func() error {
		if file == nil {
			f, err := os.Open(p.progress)
			if errors.Is(err, os.ErrNotExist) {
				return nil
			} else if err != nil {
				return err
			}
			file = f
		}
		more, err := io.ReadAll(file)
		if err != nil {
			return err
		}
		unread = append(unread, more...)
		for {
			end := strings.IndexByte(string(unread), '\n')
			if end < 0 {
				return nil
			}
			last = records.Progress{}
			if err := json.Unmarshal(unread[:end], &last); err != nil {
				return fmt.Errorf("progress of k6 (%s): %w", p.progress, err)
			}
			unread = unread[end+1:]
			observe(last)
		}
	}
	deadline := time.Now().Add(startTimeout)
	for started, done := false, false; ; {
		select {
		case <-p.exited:
			if err := p.err; err != nil {
				return fmt.Errorf("k6 failed (%w): %s", err, p.lastWords())
			}
			p.ended = true
			// The last line says when the window ended.
			return errors.Join(poll(), tick())
		case <-ctx.Done():
			_ = p.cmd.Process.Signal(syscall.SIGINT) // an error means that it has ended
			select {
			case <-p.exited:
			case <-time.After(exitTimeout):
			}
			return ctx.Err()
		case <-time.After(pollInterval):
			if err := errors.Join(poll(), tick()); err != nil {
				return err
			}
		}
		if !started && file != nil {
			started, deadline = true, time.Now().Add(p.limit)
		}
		if !done && last.Done {
			done, deadline = true, time.Now().Add(exitTimeout)
		}
		if time.Now().After(deadline) {
			if done {
				p.kill()
				return nil
			}
			return fmt.Errorf("k6 does not end; its log: %s", p.lastWords())
		}
	}
}

// pollInterval bounds how late the readings at the window's ends are.
const pollInterval = 20 * time.Millisecond

// maxWords is the most that is shown of k6's log, in bytes.
const maxWords = 2 << 10

// lastWords returns the end of k6's log, in one line, and where it is.
func (p *process) lastWords() string {
	data, _ := os.ReadFile(p.log)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return plain.Clip(strings.Join(lines[max(0, len(lines)-3):], " | "), maxWords) + " (" + p.log + ")"
}
