package httpget

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"piecebench/records"
)

// maxHead is the most that a response head may take, in bytes.
const maxHead = 64 << 10

// maxIdle is how many connections a client keeps: redirects may lead anywhere.
const maxIdle = 16

// batchPatience is how long bytes may stay in the socket because they are fewer than a
// batch. Live progress and stalls are known to within this time.
const batchPatience = 250 * time.Millisecond

// past is a deadline that has passed: set on a connection, it wakes its reader.
var past = time.Unix(1, 0)

// exchange is one request on its way: through redirects, perhaps a second
// connection, to the last byte.
type exchange struct {
	ctx      context.Context
	client   *Client
	req      Request
	res      Result
	start    time.Time
	hop      time.Time // when the running hop began: start, unless redirected
	deadline time.Time // zero for none

	c         *conn
	lastByte  time.Time // or when waiting for one began
	batching  bool      // the kernel wakes the reader for batches of bytes
	firstByte time.Time // of the response; zero before
	before    int64     // bytes received on the connection before this response
	headLeft  int       // how many bytes of the head may still come; -1 after it
	headErr   error     // that ended the head
}

func newExchange(ctx context.Context, c *Client, r Request) *exchange {
	x := &exchange{ctx: ctx, client: c, req: r, start: time.Now()}
	if x.req.Timeout == 0 {
		x.req.Timeout = c.Timeout
	}
	if x.req.Timeout > 0 {
		x.deadline = x.start.Add(x.req.Timeout)
	}
	x.hop = x.start
	x.res.StartUnixNs = c.Wall(x.start)
	x.res.Offset, x.res.Length = r.Offset, max(r.Length, 0)
	return x
}

func (x *exchange) run() error {
	u := x.req.URL
	for {
		resp, release, err := x.roundTrip(u)
		if err != nil {
			return err
		}
		next := redirect(resp, u)
		if next == nil || int(x.res.Redirects) >= x.client.MaxRedirects {
			err := x.answer(resp)
			release(err == nil && !resp.Close)
			return err
		}
		u = next
		release(x.skip(resp))
		x.nextHop()
	}
}

// nextHop forgets the answer that redirected. The record describes the phases and the
// answer of the last hop.
func (x *exchange) nextHop() {
	x.hop, x.firstByte = time.Now(), time.Time{}
	r := &x.res
	r.Redirects++
	r.RedirectNs = int64(x.hop.Sub(x.start))
	r.ConnectNs, r.TLSNs, r.TTFBNs, r.Status, r.HTTP = 0, 0, 0, 0, ""
	r.Sending = 0
}

// roundTrip sends the request to u and reads the head of the answer. On
// success release must be called, with whether the connection can be kept.
func (x *exchange) roundTrip(u *url.URL) (*http.Response, func(keep bool), error) {
	for {
		if err := x.connect(u); err != nil {
			return nil, nil, err
		}
		c := x.c
		stop := context.AfterFunc(x.ctx, func() { c.nc.SetDeadline(past) })
		release := func(keep bool) {
			c.x = nil
			if stop() && keep && !x.client.Fresh && c.br.Buffered() == 0 && len(x.client.idle) < maxIdle {
				c.used = true
				x.client.idle[c.key] = c
				return
			}
			c.close()
		}
		resp, err := x.send(u)
		if err == nil {
			return resp, release, nil
		}
		release(false)
		// A server may close a kept connection, or send something unasked, just when
		// the connection is used again. RFC 9112, 9.3.1 lets a client repeat the request
		// then, and all clients do.
		if !c.used || !x.firstByte.IsZero() || !hungUp(err) && !errors.Is(err, errUnasked) {
			return nil, nil, err
		}
	}
}

// connect sets x.c to a kept connection, or a new one.
func (x *exchange) connect(u *url.URL) error {
	defer func() { x.res.Blocked = time.Since(x.hop) }()
	x.res.Reused, x.res.TLS = false, ""
	key := connKey(u)
	if c := x.client.idle[key]; c != nil {
		delete(x.client.idle, key)
		if c.quiet() {
			x.use(c)
			return nil
		}
		c.close()
	}
	c, err := x.dial(u)
	if err == nil {
		x.use(c)
	}
	return err
}

func (x *exchange) use(c *conn) {
	x.c, c.x = c, x
	x.res.Reused, x.res.TLS = c.used, c.version
}

// errUnasked is an answer that the server sent before it could have the request.
var errUnasked = &failure{outcome: records.Status, text: "bytes that came before the server had the request"}

// send writes the request and reads the response head.
func (x *exchange) send(u *url.URL) (*http.Response, error) {
	c := x.c
	x.lastByte = time.Now()
	if err := x.arm(c.nc.SetDeadline); err != nil {
		return nil, err
	}
	x.headLeft, x.headErr = maxHead, nil
	if c.raw != nil {
		x.before = c.raw.total
	}
	head := x.head(u)
	// TTFB counts from before the write. After it, a goroutine that has to wait for a
	// CPU would read the clock when the answer is already there.
	begin := time.Now()
	_, err := c.nc.Write(head)
	x.res.Sending = time.Since(begin)
	if err != nil {
		if over := x.expired(err); over != nil {
			err = over
		}
		return nil, failAs(records.Reset, "write", err)
	}
	if _, err := c.br.Peek(1); err != nil {
		return nil, failAs(records.Reset, "no response", err)
	}
	if c.raw != nil && c.raw.unacknowledged() {
		return nil, errUnasked
	}
	x.firstByte = time.Now() // after that look, so that it is a round trip later at least
	x.res.TTFBNs = int64(x.firstByte.Sub(begin))
	for {
		resp, err := http.ReadResponse(c.br, getRequest)
		if err != nil && x.headErr != nil { // and not what the parser made of the part it had
			return nil, failAs(records.Reset, "response head", x.headErr)
		}
		if err != nil {
			return nil, failAs(records.Status, "response head", err)
		}
		if resp.StatusCode >= 200 { // else an interim response
			x.headLeft = -1
			x.res.Status, x.res.HTTP = int32(resp.StatusCode), resp.Proto
			return resp, nil
		}
	}
}

// getRequest tells http.ReadResponse which body rules apply.
var getRequest = &http.Request{Method: http.MethodGet}

// head is the request in bytes.
func (x *exchange) head(u *url.URL) []byte {
	b := make([]byte, 0, 512)
	b = append(b, "GET "...)
	b = append(b, u.RequestURI()...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, u.Host...)
	if x.client.UserAgent != "" {
		b = append(b, "\r\nUser-Agent: "...)
		b = append(b, x.client.UserAgent...)
	}
	if connKey(u) == connKey(x.req.URL) { // and no other server's
		if user := x.req.URL.User; user != nil {
			password, _ := user.Password()
			b = append(b, "\r\nAuthorization: Basic "...)
			b = base64.StdEncoding.AppendEncode(b, []byte(user.Username()+":"+password))
		}
		b = append(b, x.client.header...)
	}
	if !x.req.Whole {
		b = append(b, "\r\nRange: bytes="...)
		b = strconv.AppendInt(b, x.req.Offset, 10)
		b = append(b, '-')
		b = strconv.AppendInt(b, x.req.Offset+x.req.Length-1, 10)
	}
	if x.client.Fresh {
		b = append(b, "\r\nConnection: close"...)
	}
	return append(b, "\r\nAccept: */*\r\nAccept-Encoding: identity\r\n\r\n"...)
}

// read reads from the connection until there is a byte, a deadline passes, or
// the request is cut.
func (x *exchange) read(p []byte) (int, error) {
	for {
		n, err := x.c.nc.Read(p)
		if n > 0 {
			x.lastByte = time.Now()
			return n, nil
		}
		if err = x.expired(err); err != nil {
			return 0, err
		}
	}
}

// readHead is read for the response head.
func (x *exchange) readHead(p []byte) (n int, err error) {
	if x.headLeft == 0 {
		err = fail(records.Status, "larger than %d bytes", maxHead)
	} else if n, err = x.read(p[:min(len(p), x.headLeft)]); err == nil {
		x.headLeft -= n
	}
	x.headErr = err
	return n, err
}

// expired judges an error of the connection. If only an old deadline has passed, it sets
// the next one and returns nil: a deadline is moved when it passes, and not with every byte.
func (x *exchange) expired(err error) error {
	if !isTimeout(err) {
		return err
	}
	return x.arm(x.c.nc.SetReadDeadline)
}

// arm sets the time at which to look again whether the request is over.
func (x *exchange) arm(set func(time.Time) error) error {
	now := time.Now()
	next := x.deadline
	if stall := x.client.Stall; stall > 0 {
		giveUp := x.lastByte.Add(stall)
		if !now.Before(giveUp) {
			return fail(records.Stalled, "no byte for %s", stall)
		}
		if next.IsZero() || giveUp.Before(next) {
			next = giveUp
		}
	}
	if !x.deadline.IsZero() && !now.Before(x.deadline) {
		return x.timeout()
	}
	if x.batching {
		if look := now.Add(batchPatience); next.IsZero() || look.Before(next) {
			next = look
		}
	}
	_ = set(next)           // the next read says what is wrong with the connection
	if x.ctx.Err() != nil { // after set, which may have undone the cancellation's
		return errCut
	}
	return nil
}

func (x *exchange) timeout() error {
	return fail(records.Timeout, "not done after %s", x.req.Timeout)
}

// hungUp reports whether the server ended the connection.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
