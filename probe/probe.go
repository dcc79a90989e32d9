// Package probe asks a piece server a few small questions, and says what its answers mean
// to clients and to the checkers that measure storage providers. It only reads, and bounds
// its requests, bytes and time.
package probe

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"

	"piecebench/internal/headerfile"
)

// Options are what to probe, and how much of it.
type Options struct {
	// URL has {piece} in place of the piece CID v1, or is that of one piece. A user and
	// password in it become a header (Basic).
	URL string
	// CID is v1 or v2. It may be empty if URL contains it, or has no {piece}.
	CID      string
	MaxBytes int64         // of bodies, in all
	Timeout  time.Duration // for each request; for a whole piece, several times as long
	Insecure bool          // accept any certificate
	Header   http.Header   // of every request to this server, and of none to another

	roots *x509.CertPool // of tests
}

// MaxRequests bounds the requests of a probe, redirects and repetitions included.
const MaxRequests = 120

// The time of a probe, and of its one long request, as multiples of Options.Timeout.
const wholeTimeouts, longTimeouts = 12, 6

// Verdict is what a check says.
type Verdict string

// Warn is what some clients stumble over. Fail is what breaks the standard or a checker.
// Skip is what could not be checked, or does not apply.
const (
	Pass Verdict = "pass"
	Warn Verdict = "warn"
	Fail Verdict = "fail"
	Skip Verdict = "skip"
)

// Finding is the result of a check.
type Finding struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Seen    string  `json:"seen"`
	Means   string  `json:"means"`         // who depends on it
	Fix     string  `json:"fix,omitempty"` // of warn and fail
	// Milliseconds are times by phase.
	Milliseconds map[string]float64 `json:"ms,omitempty"`
}

// Report is the result of a probe. It contains no credentials.
type Report struct {
	URL      string    `json:"url"`
	Piece    string    `json:"piece,omitempty"` // the CID
	Size     int64     `json:"size_bytes"`      // 0: the server does not tell
	Requests int64     `json:"requests"`
	Bytes    int64     `json:"bytes"` // of bodies
	Findings []Finding `json:"checks"`
}

// Count returns the number of findings with a verdict.
func (r Report) Count(v Verdict) (n int) {
	for _, f := range r.Findings {
		if f.Verdict == v {
			n++
		}
	}
	return n
}

// check is one question to the server.
type check struct {
	name  string
	needs string // the check without whose success this one says nothing
	run   func(*session) outcome
	means string
	fix   string
}

// outcome is what a check saw.
type outcome struct {
	verdict Verdict
	seen    string
	ms      map[string]float64
}

func says(v Verdict, format string, values ...any) outcome {
	return outcome{verdict: v, seen: fmt.Sprintf(format, values...)}
}

// Run probes a server. Its error is of bad options, of a server that does not answer, or
// of ctx, which interrupts it.
func Run(ctx context.Context, o Options) (Report, error) {
	t, err := parseTarget(o.URL, o.CID)
	if err != nil {
		return Report{}, err
	}
	if o.MaxBytes < minBytes || o.Timeout <= 0 {
		return Report{}, fmt.Errorf("the bound on bytes must be at least %d, and the timeout above zero", minBytes)
	}
	if err := headerfile.CheckURL(o.Header, o.URL); err != nil {
		return Report{}, err
	}
	limited, cancel := context.WithTimeout(ctx, wholeTimeouts*o.Timeout)
	defer cancel()
	s := newSession(limited, o, t)
	defer s.close()
	if err := s.learn(); err != nil {
		return Report{}, err
	}
	r := Report{URL: t.shown(), Piece: t.text(), Size: s.size}
	verdicts := map[string]Verdict{}
	for _, c := range checks {
		got := s.judge(c, verdicts)
		if ctx.Err() != nil {
			return Report{}, errors.New("interrupted: nothing is concluded")
		}
		verdicts[c.name] = got.verdict
		f := Finding{Check: c.name, Verdict: got.verdict, Seen: got.seen, Means: c.means, Milliseconds: got.ms}
		if got.verdict == Warn || got.verdict == Fail {
			f.Fix = c.fix
		}
		r.Findings = append(r.Findings, f)
	}
	r.Requests, r.Bytes = min(s.requests.Load(), MaxRequests), s.bytes.Load()
	return r, nil
}

// judge runs a check, unless what it needs is missing. What a bound cut off is no fault
// of the server.
func (s *session) judge(c check, verdicts map[string]Verdict) outcome {
	if v := verdicts[c.needs]; v == Fail || v == Skip {
		return says(Skip, "not checked: it needs the check %q to succeed", c.needs)
	}
	if s.distrusted && c.name != certificateName {
		return says(Skip, "not checked: credentials are not sent to a server with a bad certificate (--insecure does)")
	}
	got := c.run(s)
	switch {
	case got.verdict == Pass:
	case s.ctx.Err() != nil:
		return says(Skip, "not checked: the probe's time is over")
	case s.exhausted():
		return says(Skip, "not checked: the bound of the probe is reached (%d requests, %d bytes)", MaxRequests, s.options.MaxBytes)
	}
	return got
}
