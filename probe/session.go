package probe

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"piecebench/internal/direct"
	"piecebench/internal/plain"
	"piecebench/version"
)

// chunk is the range that most checks ask for, in bytes: that of the url finder.
const chunk = 4096

// minBytes is what the checks take that cannot do with less: MaxRequests chunks, each with
// the byte that shows an answer to be too long.
const minBytes = 1 << 20

const (
	maxRedirects = 5
	maxHeader    = 64 << 10
	// A server that limits the rate gets pauses of a second, or as long as it asks for.
	maxRepeats = 2
	maxPause   = 5 * time.Second
)

// session is a probe that runs: what bounds it, and what is known of the server.
type session struct {
	ctx     context.Context
	options Options
	target  target

	client *http.Client // keeps connections; HTTP/2 if the server has it
	fresh  *http.Client // a connection for each request; HTTP/1.1

	requests, bytes atomic.Int64
	delayed         int // requests that the server answered 429 or 503, one at a time
	certificate     certificate
	distrusted      bool // nothing may be sent

	head, first, whole answer // to HEAD, to GET of the first chunk, and of the piece

	size int64  // of the piece, in bytes; 0 if unknown
	etag string // strong and well-formed, or empty
}

func newSession(ctx context.Context, o Options, t target) *session {
	return &session{ctx: ctx, options: o, target: t}
}

func (s *session) connect(insecure bool) {
	config := &tls.Config{RootCAs: s.options.roots, InsecureSkipVerify: insecure}
	client := func(protocols ...func(*http.Protocols, bool)) *http.Client {
		t := direct.Transport()
		t.TLSClientConfig = config.Clone()
		t.DisableCompression = true
		t.MaxResponseHeaderBytes = maxHeader
		t.Protocols = new(http.Protocols)
		for _, set := range protocols {
			set(t.Protocols, true)
		}
		return &http.Client{Transport: t, CheckRedirect: s.redirect}
	}
	s.client = client((*http.Protocols).SetHTTP1, (*http.Protocols).SetHTTP2)
	s.fresh = client((*http.Protocols).SetHTTP1)
	s.fresh.Transport.(*http.Transport).DisableKeepAlives = true
}

func (s *session) close() {
	if s.client != nil {
		s.client.CloseIdleConnections()
	}
}

// errSpent is of a request beyond a bound.
var errSpent = errors.New("the bound of the probe is reached")

func (s *session) exhausted() bool {
	return s.requests.Load() > MaxRequests || s.bytes.Load() >= s.options.MaxBytes
}

// redirect follows a few redirects, with credentials only to the same server.
func (s *session) redirect(to *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if s.requests.Add(1) > MaxRequests {
		return errSpent
	}
	to.Header.Del("Referer") // has the query
	if to.URL.Scheme != via[0].URL.Scheme || to.URL.Host != via[0].URL.Host {
		to.Header.Del("Authorization")
		for name := range s.options.Header {
			to.Header.Del(name)
		}
	}
	return nil
}

// question is a request. Its fields are optional but url.
type question struct {
	method, url string
	header      map[string]string
	limit       int64 // bytes of the body to read; chunk if 0
}

// answer is what came of it.
type answer struct {
	status int
	header http.Header
	length int64 // as promised; -1 if not
	body   []byte
	more   bool // the body went on beyond the limit
	err    error
	proto  string
	from   *url.URL // after redirects
	times  *times
}

// open sends a request. The caller closes the body.
func (s *session) open(c *http.Client, q question, timeout time.Duration) (*http.Response, *times, error) {
	if s.requests.Add(1) > MaxRequests {
		return nil, nil, errSpent
	}
	ctx, cancel := context.WithTimeout(s.ctx, timeout)
	t := &times{}
	r, err := http.NewRequestWithContext(t.trace(ctx), cmp.Or(q.method, http.MethodGet), q.url, nil)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	r.Header.Set("User-Agent", "piecebench-probe/"+version.Number)
	r.Header.Set("Accept", "*/*")
	r.Header.Set("Accept-Encoding", "identity")
	if s.target.user != nil {
		password, _ := s.target.user.Password()
		r.SetBasicAuth(s.target.user.Username(), password)
	}
	for name, values := range s.options.Header {
		r.Header[name] = values
	}
	for name, value := range q.header {
		r.Header.Set(name, value)
	}
	t.started = time.Now()
	response, err := c.Do(r)
	if err != nil {
		cancel()
		return nil, t, err
	}
	response.Body = &counted{response.Body, s, cancel}
	return response, t, nil
}

// counted is a body of which no more is read than the session may.
type counted struct {
	io.ReadCloser
	s      *session
	cancel context.CancelFunc // of the request
}

func (c *counted) Read(p []byte) (int, error) {
	left := c.s.options.MaxBytes - c.s.bytes.Load()
	if left <= 0 {
		return 0, errSpent
	}
	n, err := c.ReadCloser.Read(p[:min(int64(len(p)), left)])
	c.s.bytes.Add(int64(n))
	return n, err
}

func (c *counted) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}

// once asks once.
func (s *session) once(c *http.Client, q question) (a answer) {
	response, t, err := s.open(c, q, s.options.Timeout)
	if err != nil {
		return answer{err: err, length: -1}
	}
	defer response.Body.Close()
	a = answer{status: response.StatusCode, header: response.Header, length: response.ContentLength, proto: response.Proto, from: response.Request.URL, times: t}
	limit := cmp.Or(q.limit, chunk)
	a.body, a.err = io.ReadAll(io.LimitReader(response.Body, limit+1))
	if int64(len(a.body)) > limit {
		a.body, a.more = a.body[:limit], true
	}
	return a
}

// ask asks, and again a little later if the server wants fewer requests.
func (s *session) ask(q question) answer {
	for repeat := 0; ; repeat++ {
		a := s.once(s.client, q)
		if !a.pushesBack() || repeat == maxRepeats {
			return a
		}
		s.delayed++
		pause := time.Second
		if seconds, err := strconv.Atoi(a.header.Get("Retry-After")); err == nil && seconds > 0 {
			pause = time.Duration(min(seconds, int(maxPause/time.Second))) * time.Second
		}
		select {
		case <-s.ctx.Done():
			return a
		case <-time.After(pause):
		}
	}
}

func (a answer) pushesBack() bool {
	return a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable
}

// piece asks for the piece, with these headers: names and values.
func (s *session) piece(headers ...string) answer {
	q := question{url: s.target.url(), header: map[string]string{}}
	for i := 0; i < len(headers); i += 2 {
		q.header[headers[i]] = headers[i+1]
	}
	return s.ask(q)
}

// span is the question for bytes of the piece, the last one included.
func (s *session) span(from, to int64) question {
	return question{url: s.target.url(), header: map[string]string{"Range": spanOf(from, to)}}
}

func spanOf(from, to int64) string { return fmt.Sprintf("bytes=%d-%d", from, to) }

// learn asks what most checks need. Its error says that nobody answers.
func (s *session) learn() error {
	if err := s.examineCertificate(); err != nil {
		return fmt.Errorf("%s: %s: is the server up, and reachable from here?", s.target.shown(), s.failure(err))
	}
	if s.distrusted {
		return nil
	}
	s.head = s.ask(question{method: http.MethodHead, url: s.target.url()})
	s.first = s.ask(s.span(0, chunk-1))
	if s.head.status == 0 && s.first.status == 0 {
		if s.ctx.Err() == context.Canceled {
			return errors.New("interrupted: nothing is concluded")
		}
		return fmt.Errorf("%s: no answer to HEAD and GET: %s: is the server up, and reachable from here?", s.target.shown(), s.failure(s.first.err))
	}
	s.whole = s.piece()
	// The size that two of three answers have.
	fromHead, fromRange, fromGet := s.sizes()
	s.size = max(0, cmp.Or(fromRange, fromGet, fromHead))
	if fromHead > 0 && fromHead == fromGet {
		s.size = fromHead
	}
	return nil
}

// sizes are the piece's in the answers to HEAD, a range and GET; 0 where it is missing.
func (s *session) sizes() (head, ranged, get int64) {
	if s.head.status == http.StatusOK {
		head = max(0, s.head.length)
	}
	if _, _, total, ok := contentRange(s.first); ok && s.first.status == http.StatusPartialContent {
		ranged = total
	}
	if s.whole.status == http.StatusOK {
		get = max(0, s.whole.length)
	}
	return head, ranged, get
}

// failure is the text of a request's error.
func (s *session) failure(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no whole answer within %v", s.options.Timeout)
	}
	return plain.Error(err)
}

// brief describes an answer.
func (s *session) brief(a answer) string {
	switch {
	case a.status == 0:
		return s.failure(a.err)
	case a.err != nil:
		return fmt.Sprintf("status %d, then %s", a.status, s.failure(a.err))
	}
	return fmt.Sprintf("status %d", a.status)
}

// shownHeader is a header of the server, as short text.
func (a answer) shownHeader(name string) string {
	if value := a.header.Get(name); value != "" {
		return plain.Clip(value, 60)
	}
	return "none"
}
