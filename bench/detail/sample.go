package detail

import (
	"errors"

	"piecebench/bench/result"
	"piecebench/bench/stats"
	"piecebench/records"
)

// sample collects what is needed of the requests while their records are read.
type sample struct {
	ttfb, duration stats.Survival // milliseconds
	jobTime        stats.Survival
	jobs, badJobs  int
	size, failed   int
	phases         phaseSums
}

// read reads the records of one cell.
func read(cell result.Cell, recorded *records.Reader) (sample, error) {
	var s sample
	window := recorded.Window()
	if window.EndNs <= window.StartNs {
		return s, errors.New("the records name no measured window")
	}
	for r, err := range recorded.Timings() {
		if err != nil {
			return s, err
		}
		if !cell.Observes(r, window) {
			continue
		}
		times := result.TimesOf(r, window)
		times.TTFB.AddTo(&s.ttfb)
		times.Duration.AddTo(&s.duration)
		s.size++
		switch {
		case times.Duration.Ended:
			s.phases.add(r)
		case r.Outcome != records.Cut && r.StartUnixNs+r.DurationNs <= window.EndNs:
			s.failed++
		}
	}
	return s, nil
}

// readJobs adds the jobs of the cell.
func (s *sample) readJobs(of result.Jobs, path string) error {
	recorded, err := records.OpenJobs(path)
	if err != nil {
		return err
	}
	window := recorded.Window()
	for row, err := range recorded.Rows() {
		if err != nil {
			return err
		}
		took, observed := of.JobTime(row, window)
		if !observed {
			continue
		}
		took.AddTo(&s.jobTime)
		s.jobs++
		if row.Outcome == records.Failed {
			s.badJobs++
		}
	}
	return nil
}

func (s *sample) merge(other *sample) {
	s.jobTime.Merge(&other.jobTime)
	s.jobs += other.jobs
	s.badJobs += other.badJobs
	s.ttfb.Merge(&other.ttfb)
	s.duration.Merge(&other.duration)
	s.size += other.size
	s.failed += other.failed
	s.phases.merge(other.phases)
}

// detail has nothing where all requests failed: the cell has no quantiles either.
func (s *sample) detail() (d Detail) {
	if s.failed < s.size {
		d.TTFB, d.Duration, d.Phases = distributionOf(&s.ttfb), distributionOf(&s.duration), s.phases.mean()
	}
	if s.badJobs < s.jobs {
		d.JobTime = distributionOf(&s.jobTime)
	}
	return d
}

// Phases are the mean times, in milliseconds, that ok requests spent in each phase. They add
// up to the mean of their durations.
type Phases struct {
	Requests  int64
	Redirects float64 // all before the last hop; the other phases are the last hop's
	Connect   float64 // DNS and TCP; 0 on a reused connection
	TLS       float64
	Waiting   float64 // TTFB
	// Receiving is the rest: from the first byte to the last, and the time that the generator
	// took before it wrote the request.
	Receiving float64
}

// PhaseNames are the names of the phases, in their order.
var PhaseNames = []string{"redirects", "connect", "TLS", "waiting", "receiving"}

// Each returns the phases in the order of PhaseNames.
func (p Phases) Each() []float64 {
	return []float64{p.Redirects, p.Connect, p.TLS, p.Waiting, p.Receiving}
}

// Duration is the mean duration in milliseconds.
func (p Phases) Duration() (ms float64) {
	for _, phase := range p.Each() {
		ms += phase
	}
	return ms
}

// phaseSums are whole nanoseconds, so that the sum does not depend on the order.
type phaseSums struct{ requests, redirects, connect, tls, waiting, duration int64 }

func (p *phaseSums) add(r records.Request) {
	p.merge(phaseSums{1, r.RedirectNs, r.ConnectNs, r.TLSNs, r.TTFBNs, r.DurationNs})
}

func (p *phaseSums) merge(q phaseSums) {
	p.requests += q.requests
	p.redirects += q.redirects
	p.connect += q.connect
	p.tls += q.tls
	p.waiting += q.waiting
	p.duration += q.duration
}

func (p *phaseSums) mean() Phases {
	if p.requests == 0 {
		return Phases{}
	}
	ms := func(sum int64) float64 { return float64(sum) / 1e6 / float64(p.requests) }
	known := p.redirects + p.connect + p.tls + p.waiting
	return Phases{p.requests, ms(p.redirects), ms(p.connect), ms(p.tls), ms(p.waiting), max(0, ms(p.duration-known))}
}
