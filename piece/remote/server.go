// Package remote asks a server for its pieces: how large they are, and their bytes,
// from which it computes their CIDs and checksums without keeping a copy.
package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"piecebench/internal/direct"
	"piecebench/internal/headerfile"
	"piecebench/internal/plain"
	"piecebench/piece"
	"piecebench/piece/piececid"
	"piecebench/piece/pieceurl"
	"piecebench/version"
)

// Server is one that has pieces. It is safe for concurrent use.
type Server struct {
	template string // see pieceurl
	version  int    // of the CIDs that it is asked with
	header   http.Header
	client   *http.Client
}

// Options are how a server is asked.
type Options struct {
	URL      string      // a template of package pieceurl; a user and password become a header
	Header   http.Header // of every request to this server, and of none to another
	Insecure bool        // accept any certificate
}

const (
	maxRedirects = 10
	// answerTimeout is how long a server may take to the head of its answer: of a piece
	// that is cold, seconds have been seen.
	answerTimeout = time.Minute
)

// New returns a server. It contacts nobody.
func New(o Options) (*Server, error) {
	version, err := pieceurl.Version(o.URL)
	if err != nil {
		return nil, fmt.Errorf("the URL %s has %w", plain.URL(o.URL), err)
	}
	u, err := url.Parse(pieceurl.Fill(o.URL, "x", "x"))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, fmt.Errorf("%s is not a URL of pieces: give http(s)://host/piece/%s", plain.URL(o.URL), pieceurl.V1)
	}
	if err := headerfile.CheckURL(o.Header, o.URL); err != nil {
		return nil, err
	}
	t := direct.Transport()
	t.TLSClientConfig = &tls.Config{InsecureSkipVerify: o.Insecure}
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.DisableCompression = true
	t.ResponseHeaderTimeout = answerTimeout
	s := &Server{template: o.URL, version: version, header: o.Header}
	s.client = &http.Client{Transport: t, CheckRedirect: s.redirect}
	return s, nil
}

// redirect follows redirects, with credentials only to the same server.
func (s *Server) redirect(to *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	to.Header.Del("Referer") // has the query
	if to.URL.Scheme != via[0].URL.Scheme || to.URL.Host != via[0].URL.Host {
		to.Header.Del("Authorization")
		for name := range s.header {
			to.Header.Del(name)
		}
	}
	return nil
}

// statusError is of an answer that has not what was asked for.
type statusError struct {
	status int
	url    string // as it may be shown
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("%s: status %d", e.url, e.status)
	switch e.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		text += ": does it want credentials? See --header"
	case http.StatusNotFound, http.StatusGone:
		text += ": the server does not have this piece"
	}
	return text
}

// ask sends a request for a piece, and for a part of it if spec is not empty.
func (s *Server) ask(ctx context.Context, method string, v1, v2, spec string) (*http.Response, error) {
	address := pieceurl.Fill(s.template, v1, v2)
	r, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", plain.URL(address), plain.Error(err))
	}
	for name, values := range s.header {
		r.Header[name] = values
	}
	r.Header.Set("User-Agent", "piecebench/"+version.Number)
	r.Header.Set("Accept-Encoding", "identity")
	if spec != "" {
		r.Header.Set("Range", spec)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", plain.URL(address), plain.Error(err))
	}
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusPartialContent {
		answer.Body.Close()
		return nil, &statusError{answer.StatusCode, plain.URL(address)}
	}
	return answer, nil
}

// Piece asks for a piece's size, and returns what a manifest says of it, without an
// Index and checksums. A *Mismatch says that the answer is not of this CID.
func (s *Server) Piece(ctx context.Context, c piececid.CID) (piece.Piece, error) {
	if s.version == 2 && c.Version != 2 {
		return piece.Piece{}, fmt.Errorf("%s: the URL has %s, and a CID v1 does not say the v2: give the CID v2", c, pieceurl.V2)
	}
	size, err := s.size(ctx, c)
	if err != nil {
		return piece.Piece{}, err
	}
	p := piece.Piece{CID: c.V1().String()}
	if c.Version == 2 {
		p.CIDv2, p.PayloadSize, p.PaddedSize = c.String(), c.PayloadSize, c.PaddedSize
		p.PayloadOnly = s.version == 1 && size == p.PayloadSize && size != p.UnpaddedSize()
		if size != p.SizeAs(s.version) {
			return p, &Mismatch{p.CIDv2, fmt.Sprintf("the server has %d bytes, and the CID says %d, or %d with the zeros that fill the piece up", size, p.PayloadSize, p.UnpaddedSize())}
		}
		return p, nil
	}
	v2, err := piececid.V2(c.Root, size)
	if err != nil {
		return p, &Mismatch{p.CID, fmt.Sprintf("the server has %d bytes: no piece has this size", size)}
	}
	p.CIDv2, p.PayloadSize, p.PaddedSize = v2.String(), size, v2.PaddedSize
	p.PayloadOnly = size != p.UnpaddedSize()
	return p, nil
}

// Mismatch says that a server has something else than what a CID names.
type Mismatch struct{ CID, Problem string }

func (e *Mismatch) Error() string { return "piece " + e.CID + ": " + e.Problem }

// size asks how many bytes the server has: with HEAD or, as not every server
// routes it, with a GET of the first byte.
func (s *Server) size(ctx context.Context, c piececid.CID) (int64, error) {
	v1, v2 := c.V1().String(), c.String() // v2 is used only if c is one
	if head, err := s.ask(ctx, http.MethodHead, v1, v2, ""); err == nil {
		head.Body.Close()
		if head.StatusCode == http.StatusOK && head.ContentLength > 0 {
			return head.ContentLength, nil
		}
	} else if ctx.Err() != nil {
		return 0, err
	}
	get, err := s.ask(ctx, http.MethodGet, v1, v2, "bytes=0-0")
	if err != nil {
		return 0, err
	}
	defer get.Body.Close()
	if _, total, ok := contentRange(get); ok {
		return total, nil
	}
	if get.StatusCode == http.StatusOK && get.ContentLength > 0 {
		return get.ContentLength, nil
	}
	return 0, fmt.Errorf("%s: the answer does not say how large the piece is: it has neither Content-Length nor Content-Range", plain.URL(get.Request.URL.String()))
}

// contentRange reads where a partial answer begins, and the whole size.
func contentRange(r *http.Response) (first, total int64, ok bool) {
	text, unit := strings.CutPrefix(r.Header.Get("Content-Range"), "bytes ")
	span, whole, slash := strings.Cut(text, "/")
	from, _, dash := strings.Cut(span, "-")
	first, err := strconv.ParseInt(from, 10, 64)
	total, err2 := strconv.ParseInt(whole, 10, 64)
	return first, total, r.StatusCode == http.StatusPartialContent && unit && slash && dash && errors.Join(err, err2) == nil && first >= 0 && total > first
}

// open asks for a piece's payload from an offset on, and returns where the answer
// begins: at the offset or, if the server has no ranges, before it.
func (s *Server) open(ctx context.Context, p piece.Piece, offset int64) (body io.ReadCloser, at int64, err error) {
	spec := ""
	if offset > 0 || p.SizeAs(s.version) != p.PayloadSize {
		spec = fmt.Sprintf("bytes=%d-%d", offset, p.PayloadSize-1)
	}
	answer, err := s.ask(ctx, http.MethodGet, p.CID, p.CIDv2, spec)
	if err != nil {
		return nil, 0, err
	}
	if answer.StatusCode == http.StatusPartialContent {
		var ok bool
		if at, _, ok = contentRange(answer); !ok || spec == "" {
			err = fmt.Errorf("%s: the answer is a part, and its Content-Range is not that of the request", plain.URL(answer.Request.URL.String()))
		}
	}
	if err == nil && at > offset {
		err = fmt.Errorf("%s: asked for byte %d on, the server sent those from %d on", plain.URL(answer.Request.URL.String()), offset, at)
	}
	if err != nil {
		answer.Body.Close()
		return nil, 0, err
	}
	return answer.Body, at, nil
}
