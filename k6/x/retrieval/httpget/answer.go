package httpget

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"piecebench/records"
)

// maxSkip is the largest body of a redirect that is read to keep the
// connection; a larger one costs more than a new connection does.
const maxSkip = 64 << 10

// redirect returns where resp, the answer from u, sends the client, or nil.
func redirect(resp *http.Response, u *url.URL) *url.URL {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil
	}
	next, err := u.Parse(resp.Header.Get("Location"))
	if err != nil || resp.Header.Get("Location") == "" || (next.Scheme != "http" && next.Scheme != "https") {
		return nil
	}
	return next
}

// skip reads the body of a redirect and reports whether the connection can be kept.
func (x *exchange) skip(resp *http.Response) bool {
	if resp.Close || resp.ContentLength < 0 || resp.ContentLength > maxSkip {
		return false
	}
	_, err := io.Copy(io.Discard, resp.Body)
	return err == nil
}

// answer judges the response head, and receives the body when it is the one
// that was asked for.
func (x *exchange) answer(resp *http.Response) error {
	if err := x.judge(resp); err != nil {
		return err
	}
	if x.req.Length == Unknown {
		return x.receiveUnknown(resp)
	}
	return x.receiveBody(resp)
}

// receiveUnknown receives a whole object of Unknown length: what the head says, or else
// what comes until the body ends.
func (x *exchange) receiveUnknown(resp *http.Response) error {
	most := x.req.Most
	if most == 0 {
		most = math.MaxInt64
	}
	if n := resp.ContentLength; n >= 0 {
		x.req.Length, x.res.Length = n, n
		if n > most {
			return fail(records.Range, "an object of more than %d bytes", most)
		}
		return x.receiveBody(resp)
	}
	x.req.Length = most
	err := x.receive(resp.Body, true)
	if err == nil {
		x.res.Length = x.res.Bytes
	}
	return err
}

func (x *exchange) receiveBody(resp *http.Response) error {
	if x.c.raw != nil && !x.c.tls && len(resp.TransferEncoding) == 0 {
		return x.receiveRaw(resp.ContentLength)
	}
	return x.receive(resp.Body, false)
}

// judge compares the response head with the request.
func (x *exchange) judge(resp *http.Response) error {
	r := &x.req
	switch {
	case r.Whole && resp.StatusCode != http.StatusOK:
		return fail(records.Status, "status %d, want 200", resp.StatusCode)
	case !r.Whole && resp.StatusCode == http.StatusOK:
		return fail(records.Range, "status 200: the range was ignored")
	case !r.Whole && resp.StatusCode != http.StatusPartialContent:
		return fail(records.Status, "status %d, want 206", resp.StatusCode)
	}
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return fail(records.Range, "Content-Encoding %s, though identity was asked for", enc)
	}
	if !r.Whole {
		if err := r.checkContentRange(resp.Header.Get("Content-Range")); err != nil {
			return err
		}
	}
	if resp.ContentLength >= 0 && r.Length != Unknown && resp.ContentLength != r.Length {
		return fail(records.Range, "Content-Length %d, want %d", resp.ContentLength, r.Length)
	}
	return nil
}

// checkContentRange compares a Content-Range (RFC 9110, 14.4) with what was asked.
func (r *Request) checkContentRange(got string) error {
	want := fmt.Sprintf("bytes %d-%d/", r.Offset, r.Offset+r.Length-1)
	if len(got) > len(want) && strings.EqualFold(got[:len(want)], want) {
		size := got[len(want):]
		if size == "*" || r.Size == 0 || size == strconv.FormatInt(r.Size, 10) {
			return nil
		}
	}
	return fail(records.Range, "Content-Range does not match the request: %s", describeRange(got))
}

// describeRange says in which way a Content-Range is wrong. It leaves out the numbers,
// which would make every message different.
func describeRange(got string) string {
	switch {
	case got == "":
		return "it is missing"
	case !strings.HasPrefix(got, "bytes "):
		return "malformed"
	}
	return "other bytes, or an object of another size"
}

// receiveRaw receives a body that is not encoded, without any buffer in between. length
// is -1 if only the end of the connection ends the body.
func (x *exchange) receiveRaw(length int64) error {
	left := x.req.Length
	if n := min(int64(x.c.br.Buffered()), left); n > 0 {
		b, _ := x.c.br.Peek(int(n))
		if err := x.took(b, int(n)); err != nil {
			return err
		}
		x.c.br.Discard(int(n))
		left -= n
	}
	if err := x.batch(left); err != nil {
		return err
	}
	defer x.c.raw.endBatches()
	use := func(b []byte) error { return x.took(b, len(b)) }
	for left > 0 {
		var n int
		var err error
		if x.req.Sink == nil {
			if n, err = x.c.raw.drop(left); n > 0 {
				_ = x.took(nil, n) // nothing to check
			}
		} else {
			n, err = x.c.raw.copy(left, use)
		}
		left -= int64(n)
		if err = x.expired(err); err != nil {
			return x.short(err)
		}
	}
	if length < 0 {
		return x.wantEOF(x.c.br)
	}
	return nil
}

// batch has the kernel wake the reader for batches of bytes, until endBatches,
// when at least rest are still to come.
func (x *exchange) batch(rest int64) error {
	x.batching = true
	x.c.raw.expect(rest)
	return x.arm(x.c.nc.SetReadDeadline)
}

// bodyBuffers are for bodies that pass through TLS, whose records have at most 16 KiB, or
// through the decoding of chunks. They are held while waiting.
var bodyBuffers = sync.Pool{New: func() any { b := make([]byte, 16<<10); return &b }}

// receive receives a body through its decoder. An open one may end anywhere.
func (x *exchange) receive(body io.Reader, open bool) error {
	if raw := x.c.raw; raw != nil && x.c.tls && !open {
		// Some of the body may be here, encrypted. What came since the request,
		// head and all, is more than that.
		if err := x.batch(x.req.Length - (raw.total - x.before)); err != nil {
			return err
		}
		defer raw.endBatches()
	}
	buf := bodyBuffers.Get().(*[]byte)
	defer bodyBuffers.Put(buf)
	for left := x.req.Length; left > 0; {
		n, err := body.Read((*buf)[:min(int64(len(*buf)), left)])
		if n > 0 {
			if err := x.took((*buf)[:n], n); err != nil {
				return err
			}
			left -= int64(n)
		}
		if open && err == io.EOF {
			return nil
		}
		if err != nil && left > 0 {
			return x.short(err)
		}
	}
	return x.wantEOF(body)
}

// wantEOF takes the end of a body that has no Content-Length; for chunks this
// reads the last one, and the trailer.
func (x *exchange) wantEOF(body io.Reader) error {
	var b [1]byte
	switch n, err := io.ReadFull(body, b[:]); {
	case n > 0:
		return fail(records.Range, "more than the %d bytes asked for", x.req.Length)
	case errors.Is(err, io.EOF):
		return nil
	default:
		return x.short(err)
	}
}

// took counts n body bytes, and has them checked; b is nil when they were dropped.
func (x *exchange) took(b []byte, n int) error {
	now := time.Now()
	x.lastByte = now
	x.res.Bytes += int64(n)
	x.client.received.Add(int64(n))
	if !now.Before(x.client.WindowStart) && (x.client.WindowEnd.IsZero() || now.Before(x.client.WindowEnd)) {
		x.res.WindowBytes += int64(n)
	}
	if x.req.Sink == nil {
		return nil
	}
	if _, err := x.req.Sink.Write(b); err != nil {
		return fail(records.Corrupt, "%s", err)
	}
	return nil
}

// short is the failure of a body that ended early for the reason err.
func (x *exchange) short(err error) error {
	if hungUp(err) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fail(records.Short, "body ended early: %s", strings.Replace(reason(err), "unexpected EOF", "EOF", 1))
	}
	return failAs(records.Short, "body", err)
}
