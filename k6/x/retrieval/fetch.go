package retrieval

import (
	"context"
	"fmt"

	"go.k6.io/k6/metrics"

	"piecebench/internal/plain"
	"piecebench/piece/verify"
	"piecebench/records"
)

// Response is what a script learns of a request.
type Response struct {
	Outcome    string  `js:"outcome"`
	Error      string  `js:"error"`
	Status     int32   `js:"status"`
	Bytes      int64   `js:"bytes"`
	TTFBMs     float64 `js:"ttfb_ms"`
	DurationMs float64 `js:"duration_ms"`
	Decoded    int64   `js:"decoded"`
	Body       any     `js:"body"` // an ArrayBuffer of kept; null without

	kept   []byte
	source *order // of kept
}

// fetch carries out an order, and records it. It may run on any goroutine. The outcome
// is cut, and nothing is recorded, when the window closed before the request could start.
func (c *client) fetch(ctx context.Context, tags metrics.TagsAndMeta, j *job, o *order) *Response {
	if c.state.RPSLimit != nil {
		_ = c.state.RPSLimit.Wait(ctx) // it fails only when ctx is done
	}
	if c.over(ctx) {
		return &Response{Outcome: string(records.Cut)}
	}
	c.ask()
	cell, l := c.cell, c.take()
	req := o.request
	var check *verify.Checker
	if o.reference != nil {
		check = o.reference.Range(req.Offset, req.Length)
		req.Sink = check
	}
	var body *body
	if o.keep || o.decode {
		body = newBody(o, check)
		req.Sink = body
	}
	cell.active.Add(1)
	j.begin(records.Download)
	res := l.http.Get(ctx, req)
	j.end(records.Download)
	cell.active.Add(-1)

	res.Client, res.Piece, res.Object = int32(c.number), o.cid, o.object
	if check != nil {
		res.VerifiedBytes = check.Checked()
		res.Verified = res.VerifiedBytes > 0
		if res.Outcome == records.OK && res.VerifiedBytes != res.Length {
			cell.check(fmt.Errorf("%d of the %d bytes at %d of piece %s were verified, want all", res.VerifiedBytes, res.Length, res.Offset, o.cid))
		}
	}
	var decoded int64
	if o.decode && res.Outcome == records.OK {
		j.begin(decodeStage)
		n, err := decode(body.bytes)
		j.end(decodeStage)
		if decoded = n; err != nil {
			res.Outcome, res.Error = records.Corrupt, plain.Line("zstd: "+err.Error())
		}
	}
	switch res.Outcome {
	case records.OK:
		cell.ok.Add(1)
	case records.Cut:
		cell.cut.Add(1)
	default:
		cell.failed.Add(1)
	}
	j.add(&res.Request)
	if cell.records != nil {
		cell.records.Add(&res.Request)
	}
	if res.Outcome != records.Cut {
		c.state.Samples <- l.samples.request(tags, o.name, &res) // also where ctx is done by now: k6 takes it
	}
	c.put(l)
	r := &Response{
		Outcome: string(res.Outcome), Error: res.Error, Status: res.Status, Bytes: res.Bytes,
		TTFBMs: ms(res.TTFBNs), DurationMs: ms(res.DurationNs), Decoded: decoded,
	}
	if o.keep && res.Outcome == records.OK {
		source := *o // or o would be on the heap for every request
		r.kept, r.source = body.bytes, &source
	} else if body != nil {
		body.release()
	}
	return r
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }
