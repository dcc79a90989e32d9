package probe

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
)

// contentRange reads "bytes from-to/total".
func contentRange(a answer) (from, to, total int64, ok bool) {
	text, ok := strings.CutPrefix(a.header.Get("Content-Range"), "bytes ")
	if !ok {
		return 0, 0, 0, false
	}
	var errs [3]error
	span, size, _ := strings.Cut(text, "/")
	begin, end, _ := strings.Cut(span, "-")
	from, errs[0] = strconv.ParseInt(begin, 10, 64)
	to, errs[1] = strconv.ParseInt(end, 10, 64)
	total, errs[2] = strconv.ParseInt(size, 10, 64)
	return from, to, total, errs == [3]error{} && from >= 0 && from <= to && to < total
}

// ranged judges the answer to a request for one range. The total is of another check.
func (s *session) ranged(a answer, from, to int64) outcome {
	if a.status == 0 {
		return says(Fail, "%s", s.brief(a))
	}
	if a.status != http.StatusPartialContent {
		return says(Fail, "%s, not 206", s.brief(a))
	}
	gotFrom, gotTo, _, ok := contentRange(a)
	want := to - from + 1
	switch {
	case !ok || gotFrom != from || gotTo != to:
		return says(Fail, "206, Content-Range %s, not bytes %d-%d/...", a.shownHeader("Content-Range"), from, to)
	case a.length >= 0 && a.length != want:
		return says(Fail, "206 for bytes %d-%d, Content-Length %d, not %d", from, to, a.length, want)
	case a.err != nil:
		return says(Fail, "206 for bytes %d-%d, then %s", from, to, s.failure(a.err))
	case !a.more && int64(len(a.body)) != want || a.more && want <= chunk:
		return says(Fail, "206 for bytes %d-%d, but the body is not %d bytes long", from, to, want)
	}
	return says(Pass, "206, bytes %d-%d", from, to)
}

func checkHead(s *session) outcome {
	a := s.head
	switch {
	case a.status != http.StatusOK || a.err != nil:
		return says(Fail, "%s, not 200", s.brief(a))
	case a.length <= 0:
		return says(Fail, "200 without a Content-Length")
	case a.header.Get("Accept-Ranges") != "bytes":
		return says(Warn, "200, %d bytes, Accept-Ranges: %s", a.length, a.shownHeader("Accept-Ranges"))
	}
	return says(Pass, "200, %d bytes, Accept-Ranges: bytes", a.length)
}

func checkGet(s *session) outcome {
	a := s.whole
	switch {
	case a.status != http.StatusOK || a.err != nil:
		return says(Fail, "%s, not 200", s.brief(a))
	case a.length < 0:
		return says(Warn, "200 without a Content-Length")
	case s.first.status == http.StatusPartialContent && !bytes.HasPrefix(a.body, s.first.body):
		return says(Fail, "200, but the first bytes are not those of the range")
	}
	return says(Pass, "200, %d bytes; read %d of them", a.length, len(a.body))
}

func checkRange(s *session) outcome {
	to := int64(chunk - 1)
	if s.size > 0 {
		to = min(to, s.size-1)
	}
	return s.ranged(s.first, 0, to)
}

func checkSize(s *session) outcome {
	head, ranged, get := s.sizes()
	for _, other := range []int64{head, get} {
		if other > 0 && other != ranged {
			return says(Fail, "HEAD says %d bytes, Content-Range %d, GET %d (0: it does not say)", head, ranged, get)
		}
	}
	if m := s.target.main; m != nil && m.Version == 2 && m.PayloadSize != s.size {
		return says(Fail, "%d bytes, but the CID v2 is of %d", s.size, m.PayloadSize)
	}
	return says(Pass, "%d bytes in all answers that tell", s.size)
}

func checkSuffix(s *session) outcome {
	n := min(100, s.size)
	return s.ranged(s.piece("Range", fmt.Sprintf("bytes=-%d", n)), s.size-n, s.size-1)
}

func checkOpen(s *session) outcome {
	from := s.size / 2
	return s.ranged(s.piece("Range", fmt.Sprintf("bytes=%d-", from)), from, s.size-1)
}

func checkSeveral(s *session) outcome {
	a := s.piece("Range", fmt.Sprintf("bytes=0-0,%d-%d", s.size-1, s.size-1))
	if a.status == 0 || a.status >= 500 || a.err != nil {
		return says(Fail, "%s", s.brief(a))
	}
	if a.status != http.StatusPartialContent {
		return says(Warn, "status %d, not 206 multipart/byteranges", a.status)
	}
	kind, parameters, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil || kind != "multipart/byteranges" {
		return says(Warn, "206 of Content-Type %s, not multipart/byteranges", a.shownHeader("Content-Type"))
	}
	parts := multipart.NewReader(bytes.NewReader(a.body), parameters["boundary"])
	for i := range 2 {
		part, err := parts.NextPart()
		if err != nil {
			return says(Fail, "206 multipart/byteranges with %d parts of 2", i)
		}
		if body, err := io.ReadAll(part); err != nil || len(body) != 1 {
			return says(Fail, "206 multipart/byteranges, part %d is not one byte long", i+1)
		}
	}
	return says(Pass, "206 multipart/byteranges, 2 parts")
}

func checkBeyond(s *session) outcome {
	a := s.piece("Range", fmt.Sprintf("bytes=%d-", s.size+10))
	if a.status != http.StatusRequestedRangeNotSatisfiable {
		return says(Fail, "%s, not 416", s.brief(a))
	}
	if want := fmt.Sprintf("bytes */%d", s.size); a.header.Get("Content-Range") != want {
		return says(Warn, "416, Content-Range %s, not %s", a.shownHeader("Content-Range"), want)
	}
	return says(Pass, "416, Content-Range bytes */%d", s.size)
}

func checkGzip(s *session) outcome {
	to := int64(len(s.first.body)) - 1
	a := s.piece("Accept-Encoding", "gzip", "Range", spanOf(0, to))
	if encoding := a.header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return says(Fail, "a range comes with Content-Encoding: %s", a.shownHeader("Content-Encoding"))
	}
	if got := s.ranged(a, 0, to); got.verdict != Pass {
		return says(Fail, "with Accept-Encoding: gzip: %s", got.seen)
	}
	if !bytes.Equal(a.body, s.first.body) {
		return says(Fail, "a range has other bytes with Accept-Encoding: gzip")
	}
	whole := s.piece("Accept-Encoding", "gzip")
	if encoding := whole.header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return says(Warn, "a range comes as it is, the whole piece with Content-Encoding: %s", whole.shownHeader("Content-Encoding"))
	}
	return says(Pass, "the same bytes and length, no Content-Encoding")
}
