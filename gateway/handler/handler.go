// Package handler answers HTTP requests for pieces: FRC-0066's statuses, RFC
// 9110's ranges and conditions, and nginx's choices where these leave one.
//
// http.ServeContent does not fit: it answers "Range: items=0-5" and "Bytes=0-5" with 416 (nginx:
// 200 and 206) and "bytes=-0" with 206 (nginx: 416), and sends the status before it reads.
package handler

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"piecebench/gateway/metrics"
	"piecebench/gateway/store"
	"piecebench/piece"
	"piecebench/piece/piececid"
)

const piecePath = "/piece/"

// Handler serves /piece/{cid}, /healthz and /metrics.
type Handler struct {
	Manifest *atomic.Pointer[piece.Manifest] // may be replaced at any time
	Store    store.Store
	// InFlight has room for the requests that are answered at a time. Further ones are
	// refused: one that waits in a queue holds a connection and times out anyway.
	InFlight chan struct{}
	Metrics  *metrics.Metrics
	// BodyTimeout is how long a request's body, which is not used, is read after
	// the response.
	BodyTimeout time.Duration
	Log         *slog.Logger // for faults of the store
	AccessLog   *slog.Logger // a line for each request for a piece; nil for none
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		// No request here needs a body. With this header net/http does not read it
		// before the response. The deadline limits how long it reads it afterwards.
		w.Header().Set("Connection", "close")
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.BodyTimeout))
	}
	text, ok := strings.CutPrefix(r.URL.Path, piecePath)
	switch {
	case ok:
		h.servePiece(w, r, text)
	case r.URL.Path == "/metrics":
		h.Metrics.Handler().ServeHTTP(w, r)
	case r.URL.Path == "/healthz":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, "ok\n")
	default:
		refuse(w, http.StatusNotFound, "nothing here: pieces are at "+piecePath+"{piece CID}")
	}
}

// servePiece answers, then records how it went, and drops the connection if it
// went wrong halfway.
func (h *Handler) servePiece(w http.ResponseWriter, r *http.Request, text string) {
	start := time.Now()
	e := &exchange{Handler: h, w: w, r: r, start: start}
	err := e.serve(text)
	took := time.Since(start)
	if err != nil {
		cause := metrics.ByClient
		if _, ok := errors.AsType[*store.Error](err); ok {
			cause = metrics.ByStore
			h.Log.Error("response aborted", "path", r.URL.Path, "range", r.Header.Get("Range"), "sent", e.sent, "error", err)
		}
		h.Metrics.Aborted.WithLabelValues(cause).Inc()
	}
	if h.AccessLog != nil {
		h.access(e, took, err)
	}
	h.Metrics.Done(knownMethod(r.Method), e.status, took)
	if err != nil {
		panic(http.ErrAbortHandler) // how net/http is told to close the connection
	}
}

func (h *Handler) access(e *exchange, took time.Duration, err error) {
	attrs := []slog.Attr{
		slog.String("remote", e.r.RemoteAddr),
		slog.String("method", e.r.Method),
		slog.String("path", e.r.URL.Path),
		slog.String("range", e.r.Header.Get("Range")),
		slog.Int("status", e.status),
		slog.Int64("bytes", e.sent),
		slog.Float64("seconds", took.Seconds()),
	}
	if err != nil {
		attrs = append(attrs, slog.String("aborted", err.Error()))
	}
	h.AccessLog.LogAttrs(e.r.Context(), slog.LevelInfo, "request", attrs...)
}

// knownMethod keeps invented methods out of the metrics.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return method
	}
	return "other"
}

// exchange is one request for a piece and its response.
type exchange struct {
	*Handler
	w      http.ResponseWriter
	r      *http.Request
	start  time.Time
	status int
	sent   int64 // piece bytes
}

// serve answers the request. It fails when the response could not be completed
// after it was begun.
func (e *exchange) serve(text string) error {
	e.w.Header().Set("Access-Control-Allow-Origin", "*")
	switch e.r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		return e.preflight()
	default:
		e.w.Header().Set("Allow", allow)
		return e.refuse(http.StatusMethodNotAllowed, "only "+allow+" are served here")
	}
	c, err := piececid.Parse(text)
	if err != nil {
		return e.refuse(http.StatusBadRequest, err.Error())
	}
	p, ok := e.Manifest.Load().Find(c)
	if !ok {
		return e.refuse(http.StatusNotFound, "piece "+c.String()+" is not stored here")
	}
	select {
	case e.InFlight <- struct{}{}:
		defer func() { <-e.InFlight }()
	default:
		e.w.Header().Set("Retry-After", "1")
		return e.refuse(http.StatusTooManyRequests, "too many requests at once: try again in a second")
	}
	object, err := e.Store.Open(p)
	if err != nil {
		return e.broken(c, err)
	}
	defer object.Close()
	return e.servePieceBytes(c, object, p.SizeAs(c.Version))
}

const allow = "GET, HEAD, OPTIONS"

// preflight answers a browser that asks whether a page may send a range
// request from elsewhere.
func (e *exchange) preflight() error {
	h := e.w.Header()
	h.Set("Allow", allow)
	h.Set("Access-Control-Allow-Methods", allow)
	h.Set("Access-Control-Allow-Headers", "Range, If-Range, If-None-Match, If-Match")
	h.Set("Access-Control-Max-Age", "86400")
	e.status = http.StatusNoContent
	e.w.WriteHeader(e.status)
	return nil
}

// broken answers 500. The client learns what is wrong, the log has the file too.
func (e *exchange) broken(c piececid.CID, err error) error {
	e.Log.Error("piece cannot be read", "cid", c.String(), "error", err)
	return e.refuse(http.StatusInternalServerError, "piece "+c.String()+" is listed here, but its file cannot be read")
}

func (e *exchange) refuse(status int, text string) error {
	e.status = status
	refuse(e.w, status, text)
	return nil
}

// refuse answers with a status and one line of text.
func refuse(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store") // a reload or a repair may change it
	h.Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}
