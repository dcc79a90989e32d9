package handler

import (
	"fmt"
	"math/rand/v2"
	"net/http"

	"piecebench/gateway/byterange"
)

// body is what a response will send.
type body struct {
	status       int
	contentType  string
	contentRange string // of a single range
	length       int64  // all of it, in bytes
	parts        []part // at least one
	tail         string // after the last part
}

// part is one range, and what is written before it.
type part struct {
	byterange.Range
	head string
}

// newBody returns the body for these ranges of an object of size bytes, which
// is at least one byte; for none, of the whole.
func newBody(ranges []byterange.Range, size int64) body {
	switch len(ranges) {
	case 0:
		whole := byterange.Range{Length: size}
		return body{status: http.StatusOK, contentType: contentType, length: size, parts: []part{{Range: whole}}}
	case 1:
		r := ranges[0]
		return body{
			status:       http.StatusPartialContent,
			contentType:  contentType,
			contentRange: r.ContentRange(size),
			length:       r.Length,
			parts:        []part{{Range: r}},
		}
	}
	// As nginx writes it, byte by byte.
	boundary := fmt.Sprintf("%020d", rand.Uint64())
	b := body{
		status:      http.StatusPartialContent,
		contentType: "multipart/byteranges; boundary=" + boundary,
		tail:        "\r\n--" + boundary + "--\r\n",
	}
	b.length = int64(len(b.tail))
	for _, r := range ranges {
		p := part{r, "\r\n--" + boundary + "\r\nContent-Type: " + contentType +
			"\r\nContent-Range: " + r.ContentRange(size) + "\r\n\r\n"}
		b.parts = append(b.parts, p)
		b.length += int64(len(p.head)) + r.Length
	}
	return b
}
