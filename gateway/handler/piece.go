package handler

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"piecebench/gateway/byterange"
	"piecebench/gateway/store"
	"piecebench/gateway/wire"
	"piecebench/piece/piececid"
)

const (
	contentType = "application/piece"
	// What booster-http sends: 48 weeks.
	cacheControl = "public, max-age=29030400, immutable"
	// What a page from elsewhere may read of the response.
	exposed = "Accept-Ranges, Content-Disposition, Content-Length, Content-Range, ETag"
)

// servePieceBytes answers with what the request asks of an object's first size
// bytes.
func (e *exchange) servePieceBytes(c piececid.CID, object store.Object, size int64) error {
	name := c.String()
	etag := `"` + name + `"`
	h := e.w.Header()
	h.Set("ETag", etag)
	h.Set("Cache-Control", cacheControl)
	h.Set("Access-Control-Expose-Headers", exposed)

	if status := conditional(e.r.Header, etag); status == http.StatusPreconditionFailed {
		return e.refuse(status, "the piece is not what If-Match asks for: its tag is "+etag)
	} else if status != 0 {
		e.status = status
		e.w.WriteHeader(status)
		return nil
	}
	ranges, err := requestedRanges(e.r.Header, etag, size)
	if err != nil {
		h.Set("Content-Range", byterange.UnsatisfiedRange(size))
		return e.refuse(http.StatusRequestedRangeNotSatisfiable,
			"the range asked for is malformed or past the end: the piece has "+strconv.FormatInt(size, 10)+" bytes")
	}
	h.Set("Accept-Ranges", "bytes")
	h.Set("Content-Disposition", `attachment; filename="`+name+`.piece"`)
	return e.write(object, c, newBody(ranges, size))
}

// write sends a body, after reading its first bytes: a piece that cannot be
// read is refused while there is still a status to say it with.
func (e *exchange) write(object store.Object, c piececid.CID, b body) error {
	first := b.parts[0].Range
	var head [headSize]byte
	probe := head[:min(headSize, first.Length)]
	if _, err := object.ReadAt(probe, first.Offset); err != nil {
		h := e.w.Header()
		for _, name := range []string{"ETag", "Accept-Ranges", "Content-Disposition"} {
			h.Del(name)
		}
		return e.broken(c, err)
	}

	h := e.w.Header()
	h.Set("Content-Type", b.contentType)
	h.Set("Content-Length", strconv.FormatInt(b.length, 10))
	if b.contentRange != "" {
		h.Set("Content-Range", b.contentRange)
	}
	e.status = b.status
	e.w.WriteHeader(b.status)
	if e.r.Method == http.MethodHead {
		return nil
	}
	e.Metrics.FirstByte.Observe(time.Since(e.start).Seconds())
	return e.writeParts(object, b, probe)
}

// writeParts writes a body, of which the first bytes are at hand.
func (e *exchange) writeParts(object store.Object, b body, probe []byte) error {
	wire.Unfinished(e.r.Context(), true)
	for i, part := range b.parts {
		if _, err := io.WriteString(e.w, part.head); err != nil {
			return err
		}
		r := part.Range
		if i == 0 {
			if _, err := e.w.Write(probe); err != nil {
				return err
			}
			e.count(int64(len(probe)))
			r = byterange.Range{Offset: r.Offset + int64(len(probe)), Length: r.Length - int64(len(probe))}
		}
		if _, err := io.Copy(e.w, wire.NewSection(object, r.Offset, r.Length, e.count)); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(e.w, b.tail); err != nil {
		return err
	}
	wire.Unfinished(e.r.Context(), false)
	return nil
}

// headSize is how much of a body is read before the response begins. It goes
// out in one segment with the response head.
const headSize = 512

func (e *exchange) count(n int64) {
	e.sent += n
	e.Metrics.Bytes.Add(float64(n))
}
