package runner

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"piecebench/bench/plan"
	"piecebench/bench/readable"
	"piecebench/bench/result"
	"piecebench/records"
)

// status tells a person how far the sweep is: a line that is written over and
// over on a terminal, and one line for each thing that is done.
type status struct {
	w        io.Writer
	terminal bool
	last     records.Progress
}

func newStatus(w io.Writer) *status {
	f, ok := w.(*os.File)
	return &status{w: w, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

const clearLine = "\r\x1b[K"

// now shows a passing line: on a terminal only, where it can be taken back.
func (s *status) now(format string, args ...any) {
	if s.terminal {
		fmt.Fprintf(s.w, clearLine+format, args...)
	}
}

func (s *status) clear() { s.now("") }

// done writes a line that stays.
func (s *status) done(format string, args ...any) {
	s.clear()
	fmt.Fprintf(s.w, format+"\n", args...)
}

// dashboard says where a person can look at the run; grafana is Grafana's base
// URL, empty without one. labGoes says that Prometheus goes with the lab, now.
func (s *status) dashboard(grafana string, run *result.Run, labGoes bool) {
	if grafana == "" {
		return
	}
	until, again := "now", ""
	if run.Finished != nil {
		until = fmt.Sprint(run.Finished.UnixMilli())
		if labGoes {
			again = " after make up: the lab is removed now, and its Prometheus with it"
		}
	}
	s.done("dashboard%s: %s/d/piecebench-compare?var-run=%s&from=%d&to=%s",
		again, strings.TrimRight(grafana, "/"), url.QueryEscape(run.ID), run.Started.UnixMilli(), until)
}

func (s *status) step(what string) { s.now("calibrating %s", what) }

func (s *status) calibrated(c result.Calibration) {
	if c.Backend == "" || c.AskedRateBits == 0 {
		s.done("link %s: RTT %.2f ms, unlimited %.0f Mbit/s", c.Link, c.IdleRTTMs, float64(c.CeilingBits)/1e6)
		return
	}
	s.done("link %s (%s): RTT %.2f ms, ceiling %.1f Mbit/s of %.1f", c.Link, c.Backend, c.IdleRTTMs, float64(c.CeilingBits)/1e6, float64(c.ExpectedBits)/1e6)
	for _, note := range c.Notes {
		s.done("  %s", note)
	}
}

func (s *status) generator(g result.Generator) {
	s.done("generator: k6 receives up to %.0f Mbit/s here", float64(g.CeilingBits)/1e6)
}

// cell shows a cell that runs: left is what the sweep takes from this cell's start.
func (s *status) cell(c plan.Cell, cells string, p records.Progress, left time.Duration) {
	goodput := 0.0
	if seconds := float64(p.UnixNs-s.last.UnixNs) / 1e9; s.last.WindowStart == p.WindowStart && seconds > 0 {
		goodput = float64(p.Bytes-s.last.Bytes) * 8 / 1e6 / seconds
	}
	s.last = p
	s.now("cell %d of %s: %s, %s, %s, %d clients: %.0f Mbit/s, %s left", c.ID, cells, c.Target.Name, c.Link, c.Mode.Name, c.Concurrency, goodput, left.Round(time.Second))
}

// measured writes the result of a cell.
func (s *status) measured(c result.Cell, cells string) {
	line := fmt.Sprintf("cell %d of %s: %s, %s, %s, %d clients: %s Mbit/s", c.ID, cells, c.Target, c.Link, c.Mode, c.Concurrency, readable.Megabits(c.GoodputBits()))
	if share, known := c.LinkShare(); known {
		line += fmt.Sprintf(" (%s of the link)", readable.WholePercent(share))
	}
	line += fmt.Sprintf(", %d ok, %d failed, %d cut", c.RequestsOK, c.RequestsFailed(), c.RequestsCut)
	if j := c.Jobs; j != nil {
		line += fmt.Sprintf("; jobs: %d ok, %d failed, %d cut", j.OK, j.Failed, j.Cut)
		if q := j.Duration.P50; q != nil && !q.Bound {
			line += ", median " + readable.Duration(q.Ms)
		}
	}
	for _, e := range c.FirstErrors {
		line += "; " + e
		break
	}
	s.done("%s", line)
}

// judged writes what a cell shows a search.
func (s *status) judged(verdict string, why []string) {
	s.done("  %s", strings.Join(append([]string{verdict}, why...), "; "))
}
