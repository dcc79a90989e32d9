package probe

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"piecebench/internal/plain"
)

// times are when the phases of a request ended. The tries of several addresses can be
// under way at once.
type times struct {
	mu                                   sync.Mutex
	started                              time.Time
	dns, dnsDone, tcp, tcpDone, tls      time.Time
	tlsDone, requestWritten, firstAnswer time.Time
	reused                               bool
}

func (t *times) trace(ctx context.Context) context.Context {
	at := func(which *time.Time) {
		t.mu.Lock()
		*which = time.Now()
		t.mu.Unlock()
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart:             func(httptrace.DNSStartInfo) { at(&t.dns) },
		DNSDone:              func(httptrace.DNSDoneInfo) { at(&t.dnsDone) },
		ConnectStart:         func(string, string) { at(&t.tcp) },
		ConnectDone:          func(string, string, error) { at(&t.tcpDone) },
		TLSHandshakeStart:    func() { at(&t.tls) },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { at(&t.tlsDone) },
		WroteRequest:         func(httptrace.WroteRequestInfo) { at(&t.requestWritten) },
		GotFirstResponseByte: func() { at(&t.firstAnswer) },
		GotConn: func(info httptrace.GotConnInfo) {
			t.mu.Lock()
			t.reused = info.Reused
			t.mu.Unlock()
		},
	})
}

// phases are in milliseconds. "total" is from the request's start to its first byte.
func (t *times) phases() map[string]float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	ms := map[string]float64{}
	for _, p := range []struct {
		name     string
		from, to time.Time
	}{{"dns", t.dns, t.dnsDone}, {"connect", t.tcp, t.tcpDone}, {"tls", t.tls, t.tlsDone}, {"first_byte", t.requestWritten, t.firstAnswer}, {"total", t.started, t.firstAnswer}} {
		if !p.from.IsZero() && !p.to.IsZero() {
			ms[p.name] = max(0, float64(p.to.Sub(p.from).Microseconds())/1000)
		}
	}
	return ms
}

// timings is how many requests a TTFB is the median of.
const timings = 3

// ttfb measures the first byte of requests on new connections, or on one that is kept.
func ttfb(cold bool) func(*session) outcome {
	return func(s *session) outcome {
		values := map[string][]float64{}
		client := s.client
		if cold {
			client = s.fresh
		}
		for range timings {
			a := s.once(client, s.span(0, chunk-1))
			if a.status == 0 || a.status >= 400 || a.err != nil {
				return says(Warn, "%s", s.brief(a))
			}
			if !cold && !a.times.reused {
				continue
			}
			for name, ms := range a.times.phases() {
				values[name] = append(values[name], ms)
			}
		}
		if len(values["total"]) == 0 {
			return says(Skip, "not measured: no connection could be used again")
		}
		ms := map[string]float64{}
		var parts []string
		for _, name := range []string{"dns", "connect", "tls", "first_byte", "total"} {
			if v := values[name]; len(v) > 0 {
				slices.Sort(v)
				ms[name] = v[len(v)/2]
				parts = append(parts, fmt.Sprintf("%s %.1f", strings.ReplaceAll(name, "_", " "), ms[name]))
			}
		}
		o := says(Pass, "%s ms (median of %d)", strings.Join(parts, ", "), len(values["total"]))
		o.ms = ms
		return o
	}
}

func checkKeepAlive(s *session) outcome {
	s.piece("Range", "bytes=0-0")
	switch a := s.piece("Range", "bytes=0-0"); {
	case a.status == 0 || a.err != nil:
		return says(Fail, "the second request: %s", s.brief(a))
	case !a.times.reused:
		return says(Warn, "the server closes the connection after each answer")
	default:
		return says(Pass, "two requests on one connection, %s", plain.Clip(a.proto, 20))
	}
}

func checkHTTP2(s *session) outcome {
	switch {
	case !s.https():
		return says(Warn, "not offered: the URL is http")
	case s.first.proto != "HTTP/2.0":
		return says(Warn, "not offered: ALPN chose %s", plain.Clip(s.first.proto, 20))
	}
	return says(Pass, "HTTP/2 by ALPN")
}

func checkRedirect(s *session) outcome {
	asked, err := url.Parse(s.target.url())
	at := s.first.from
	if err != nil || at == nil {
		return says(Skip, "not checked: no answer")
	}
	switch {
	case at.String() == asked.String():
		return says(Pass, "none")
	case at.Scheme == "http" && asked.Scheme == "https":
		return says(Warn, "from https to http: %s", plain.Clip(plain.URL(at.String()), 120))
	}
	return says(Warn, "to %s", plain.Clip(plain.URL(at.String()), 120))
}

const certificateName = "certificate"

// certificate is what the TLS handshake showed.
type certificate struct {
	problem error
	expires time.Time
}

// soon is how long before its end a certificate should have been renewed.
const soon = 14 * 24 * time.Hour

func (s *session) https() bool {
	return strings.HasPrefix(strings.ToLower(s.target.template), "https:")
}

// examineCertificate shakes hands with the server, and decides whether to go on. Its
// error is of a server that cannot be reached.
func (s *session) examineCertificate() error {
	if !s.https() {
		s.connect(false)
		return nil
	}
	u, err := url.Parse(s.target.url())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.options.Timeout)
	defer cancel()
	s.requests.Add(1)
	// Verified below: a bad certificate is a finding, and what else there is to find
	// is looked for unless it would expose credentials.
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, ServerName: u.Hostname()}}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")))
	if err != nil {
		return err
	}
	defer conn.Close()
	chain := conn.(*tls.Conn).ConnectionState().PeerCertificates
	between := x509.NewCertPool()
	s.certificate.expires = chain[0].NotAfter
	for _, c := range chain[1:] {
		between.AddCert(c)
		if c.NotAfter.Before(s.certificate.expires) {
			s.certificate.expires = c.NotAfter
		}
	}
	_, s.certificate.problem = chain[0].Verify(x509.VerifyOptions{DNSName: u.Hostname(), Roots: s.options.roots, Intermediates: between})
	bad := s.certificate.problem != nil
	s.distrusted = bad && (s.target.secret() || s.options.Header != nil) && !s.options.Insecure
	s.connect(bad || s.options.Insecure)
	return nil
}

func checkCertificate(s *session) outcome {
	if !s.https() {
		return says(Skip, "the URL is http")
	}
	days := int(time.Until(s.certificate.expires).Hours() / 24)
	date := s.certificate.expires.UTC().Format(time.DateOnly)
	switch problem := s.certificate.problem; {
	case problem != nil && s.options.Insecure:
		return says(Warn, "%s (accepted by --insecure)", plain.Error(problem))
	case problem != nil:
		return says(Fail, "%s", plain.Error(problem))
	case time.Until(s.certificate.expires) < soon:
		return says(Warn, "valid, but expires in %d days, on %s", days, date)
	}
	return says(Pass, "valid for %d days, until %s", days, date)
}
