package runner

import (
	"net/url"
	"time"

	"piecebench/bench/bottleneck"
	"piecebench/bench/plan"
	"piecebench/bench/result"
	"piecebench/bench/settings"
)

// findBottleneck adds to a cell the ceilings and times that its figures are compared with,
// and what limited it.
func (r *sweep) findBottleneck(measured *result.Cell, c plan.Cell) {
	e := measured.Evidence
	if e == nil {
		e = &result.Evidence{}
		measured.Evidence = e
	}
	for _, k := range r.results.Calibrations {
		if k.Link == measured.Link && r.behindLink(c.Target) {
			measured.CeilingBits, measured.HostLimited = k.CeilingBits, k.HostLimited
			e.RTTMs = k.IdleRTTMs
		}
	}
	if g := r.results.Generator; g != nil {
		e.GeneratorBits = g.CeilingBits
	}
	if bytes := r.requestBytes(measured, c); bytes > 0 {
		r.explain(e, c, bytes)
	}
	measured.LimitedBy, measured.Because = bottleneck.Of(*measured)
}

// requestBytes is how many bytes a request asks for, 0 if that is not known. Those of a job,
// or of a script of one's own, may be of any size: then it is the mean of what came.
func (r *sweep) requestBytes(measured *result.Cell, c plan.Cell) int64 {
	switch {
	case measured.Jobs == nil && c.Mode.Requests == 1:
		return c.Mode.RequestBytes(smallest(r.manifest).SizeAs(1))
	case measured.RequestsOK == 0:
		return 0
	}
	return measured.WindowBytes / measured.RequestsOK
}

// explain adds the times that round trip and link explain of one request.
func (r *sweep) explain(e *result.Evidence, c plan.Cell, bytes int64) {
	rtt := time.Duration(e.RTTMs * float64(time.Millisecond))
	e.FloorMs = c.Link.SlowStart(bytes, rtt).Seconds() * 1000
	if e.RTTMs > 0 {
		trips := 1.0
		if r.settings.Connections == "fresh" {
			trips = 2
		}
		e.OpenMs = trips*e.RTTMs + c.Link.Transmit(float64(bytes)).Seconds()*1000
	}
}

// behindLink tells whether a server is behind the link agent. The agent knows nothing about
// others.
func (r *sweep) behindLink(t settings.Target) bool {
	target, err := url.Parse(t.Address())
	if err != nil || r.agent == nil {
		return false
	}
	shaped, err := url.Parse(r.options.Shaped)
	return err == nil && target.Hostname() == shaped.Hostname()
}
