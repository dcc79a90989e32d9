package handler

import (
	"net/http"
	"strings"

	"piecebench/gateway/byterange"
)

// conditional returns the status that a request's conditions call for: 304,
// 412, or 0 to go on. A piece has no date of change, so those on dates do not
// apply (RFC 9110, 13.1.3 and 13.1.4).
func conditional(h http.Header, etag string) int {
	if list := h.Values("If-Match"); len(list) > 0 && !matches(list, etag, false) {
		return http.StatusPreconditionFailed
	}
	if list := h.Values("If-None-Match"); len(list) > 0 && matches(list, etag, true) {
		return http.StatusNotModified
	}
	return 0
}

// matches reports whether a list of entity tags has etag, which is a strong
// one. In a weak comparison W/"x" equals "x". Piece CIDs have no commas.
func matches(lines []string, etag string, weak bool) bool {
	for _, line := range lines {
		if line == "*" {
			return true
		}
		for tag := range strings.SplitSeq(line, ",") {
			tag = strings.Trim(tag, " \t")
			if weak {
				tag = strings.TrimPrefix(tag, "W/")
			}
			if tag == etag {
				return true
			}
		}
	}
	return false
}

// requestedRanges returns the ranges that a request asks for, none for the
// whole object. If-Range must be the very entity tag: a range of anything else
// must not be mixed with what the client has.
func requestedRanges(h http.Header, etag string, size int64) ([]byterange.Range, error) {
	if lines := h.Values("If-Range"); len(lines) > 0 && lines[0] != etag {
		return nil, nil
	}
	return byterange.Parse(h.Get("Range"), size)
}
