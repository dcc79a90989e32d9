// Package byterange reads Range headers (RFC 9110, section 14), with the
// choices that nginx makes where the RFC leaves them open.
package byterange

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrUnsatisfiable means that no requested byte exists, or that the header is a
// malformed range of bytes. The answer is 416.
var ErrUnsatisfiable = errors.New("range not satisfiable")

// Range is a run of at least one byte.
type Range struct {
	Offset, Length int64
}

// ContentRange returns the header value for a range of an object of size bytes.
func (r Range) ContentRange(size int64) string {
	return fmt.Sprintf("bytes %d-%d/%d", r.Offset, r.Offset+r.Length-1, size)
}

// UnsatisfiedRange returns the Content-Range of a 416.
func UnsatisfiedRange(size int64) string { return fmt.Sprintf("bytes */%d", size) }

// Parse returns the ranges that a Range header requests from an object of size
// bytes, in the header's order, each cut to the object. It returns none if the
// header must be ignored and the whole object sent: the unit is not bytes, or the
// ranges add up to more than the object.
func Parse(header string, size int64) ([]Range, error) {
	const unit = "bytes="
	if len(header) <= len(unit) || !strings.EqualFold(header[:len(unit)], unit) {
		return nil, nil
	}
	var ranges []Range
	var sum int64
	tooMuch := false // the rest is still read: it may be malformed
	for spec := range strings.SplitSeq(header[len(unit):], ",") {
		r, err := parseSpec(spec, size)
		if err != nil {
			return nil, err
		}
		if r.Length <= 0 {
			continue // past the end, or backwards
		}
		if r.Length > size-sum {
			tooMuch = true
			continue
		}
		sum += r.Length
		ranges = append(ranges, r)
	}
	switch {
	case tooMuch:
		return nil, nil
	case len(ranges) == 0:
		return nil, ErrUnsatisfiable
	}
	return ranges, nil
}

// parseSpec reads "first-last", "first-" or "-length". The range has no length
// when none of it exists.
func parseSpec(spec string, size int64) (Range, error) {
	spec = strings.Trim(spec, " ")
	if suffix, ok := strings.CutPrefix(spec, "-"); ok {
		n, rest, err := number(suffix)
		if err != nil || rest != "" {
			return Range{}, ErrUnsatisfiable
		}
		n = min(n, size)
		return Range{Offset: size - n, Length: n}, nil
	}
	first, rest, err := number(spec)
	if err != nil {
		return Range{}, err
	}
	rest, ok := strings.CutPrefix(strings.TrimLeft(rest, " "), "-")
	if !ok {
		return Range{}, ErrUnsatisfiable
	}
	if rest = strings.TrimLeft(rest, " "); rest == "" {
		return Range{Offset: first, Length: size - first}, nil
	}
	last, rest, err := number(rest)
	if err != nil || rest != "" {
		return Range{}, ErrUnsatisfiable
	}
	return Range{Offset: first, Length: min(last, size-1) - first + 1}, nil
}

// number reads the decimal digits at the start of s, and returns what follows.
func number(s string) (n int64, rest string, err error) {
	rest = strings.TrimLeft(s, "0123456789")
	if n, err = strconv.ParseInt(s[:len(s)-len(rest)], 10, 64); err != nil {
		return 0, "", ErrUnsatisfiable
	}
	return n, rest, nil
}
