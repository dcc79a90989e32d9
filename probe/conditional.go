package probe

import (
	"bytes"
	"net/http"
	"strings"
)

// otherTag is the ETag of nothing.
const otherTag = `"piecebench-probe-other"`

// checkETag also learns the ETag, if conditions can use it.
func checkETag(s *session) outcome {
	tag := s.first.header.Get("ETag")
	again := s.piece("Range", "bytes=0-0").header.Get("ETag")
	head := s.head.header.Get("ETag")
	opaque := strings.TrimPrefix(tag, "W/")
	switch {
	case tag == "":
		return says(Warn, "none")
	case again != tag || s.head.status == http.StatusOK && head != "" && head != tag:
		return says(Fail, "not the same each time: %s, then another", s.first.shownHeader("ETag"))
	case len(opaque) < 2 || opaque[0] != '"' || opaque[len(opaque)-1] != '"':
		return says(Warn, "without its quotes: %s", s.first.shownHeader("ETag"))
	case opaque != tag:
		return says(Warn, "weak: %s", s.first.shownHeader("ETag"))
	}
	s.etag = tag
	return says(Pass, "%s, the same each time", s.first.shownHeader("ETag"))
}

var noETag = says(Skip, "not checked: there is no strong ETag in quotes")

func checkNoneMatch(s *session) outcome {
	if s.etag == "" {
		return noETag
	}
	if a := s.piece("If-None-Match", s.etag); a.status != http.StatusNotModified {
		return says(Warn, "%s for the current ETag, not 304", s.brief(a))
	}
	return says(Pass, "304 for the current ETag")
}

func checkIfRange(s *session) outcome {
	if s.etag == "" {
		return noETag
	}
	a := s.piece("Range", "bytes=1-9", "If-Range", s.etag)
	if got := s.ranged(a, 1, 9); got.verdict != Pass {
		return says(Warn, "for the current ETag: %s", got.seen)
	}
	if len(s.first.body) > 9 && !bytes.Equal(a.body, s.first.body[1:10]) {
		return says(Fail, "for the current ETag it sends other bytes")
	}
	return says(Pass, "206 for the current ETag")
}

func checkIfRangeOther(s *session) outcome {
	if a := s.piece("Range", "bytes=1-9", "If-Range", otherTag); a.status != http.StatusOK || a.err != nil {
		return says(Fail, "%s for another ETag, not 200 with the whole piece", s.brief(a))
	}
	return says(Pass, "200 for another ETag")
}
