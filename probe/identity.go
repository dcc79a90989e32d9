package probe

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"piecebench/piece/bytesize"
	"piecebench/piece/commp"
	"piecebench/piece/piececid"
)

// leastSize is the size below which the url finder takes a piece for no deal's.
const leastSize = 8 << 30

func checkFinder(s *session) outcome {
	length, n := binary.Uvarint(s.first.body)
	header := s.first.body[max(n, 0):]
	header = header[:min(uint64(len(header)), length)]
	switch {
	case n <= 0 || len(header) == 0 || header[0]>>5 != 5 || !bytes.Contains(header, []byte("gversion")): // a CBOR map
		return says(Warn, "the piece does not begin with a CAR header")
	case s.size < leastSize:
		return says(Warn, "a CAR header, but only %d bytes", s.size)
	}
	return says(Pass, "a CAR header, %d bytes", s.size)
}

// form checks that the server knows a piece by its CID of a version.
func form(version int) func(*session) outcome {
	return func(s *session) outcome {
		t := s.target
		if t.main == nil {
			return noCID
		}
		if t.main.Version == version {
			return says(Pass, "it is that of the URL")
		}
		cid := t.given.V1()
		if version == 2 {
			// Of a CID v1, zeros that fill the piece up are part of the payload.
			cid = *t.given
			if cid.Version == 1 {
				var err error
				if cid, err = piececid.V2(cid.Root, s.size); err != nil {
					return says(Skip, "not checked: of %d bytes there is no CID v2", s.size)
				}
			}
		}
		a := s.ask(question{url: t.of(cid.String())})
		switch {
		case a.status == 0 || a.status >= 500:
			return says(Fail, "%s for %s", s.brief(a), cid)
		case a.status != http.StatusOK:
			return says(Warn, "%s for %s", s.brief(a), cid)
		case version == 2 && a.length >= 0 && a.length != cid.PayloadSize:
			return says(Warn, "200, but %d bytes; %s is of %d", a.length, cid, cid.PayloadSize)
		}
		return says(Pass, "200, %d bytes", a.length)
	}
}

var noCID = says(Skip, "not checked: the URL contains no piece CID")

func checkUnknown(s *session) outcome {
	var root piececid.Root
	binary.LittleEndian.PutUint64(root[:], rand.Uint64())
	return s.refused(piececid.V1(root).String(), http.StatusNotFound, http.StatusGone)
}

func checkMalformed(s *session) outcome {
	return s.refused("baga6ea4seaq-no-cid", http.StatusNotFound, http.StatusBadRequest)
}

// refused judges the answer to a CID of which the server has no piece.
func (s *session) refused(cid string, statuses ...int) outcome {
	if !s.target.named() {
		return noCID
	}
	a := s.ask(question{url: s.target.of(cid)})
	for _, status := range statuses {
		if a.status == status {
			return says(Pass, "%d", status)
		}
	}
	if a.status < 400 || a.status >= 500 {
		return says(Fail, "%s, not %d", s.brief(a), statuses[0])
	}
	return says(Warn, "%s, not %d", s.brief(a), statuses[0])
}

// checkBytes computes the piece CID of a piece that is small enough, and compares two
// reads of a part of any other.
func checkBytes(s *session) outcome {
	left := s.options.MaxBytes - s.bytes.Load() - loadBytes
	if s.target.main == nil || s.size > left {
		return s.readTwice(left / 2)
	}
	response, _, err := s.open(s.client, question{url: s.target.url()}, longTimeouts*s.options.Timeout)
	if err != nil {
		return says(Fail, "the whole piece: %s", s.failure(err))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return says(Fail, "the whole piece: status %d, not 200", response.StatusCode)
	}
	started, before := time.Now(), s.bytes.Load()
	sum, err := commp.Sum(response.Body)
	n := s.bytes.Load() - before
	switch want := *s.target.main; {
	case err != nil:
		return says(Fail, "the whole piece: %d bytes, then %s", n, s.failure(err))
	case s.size > 0 && n != s.size:
		return says(Fail, "the whole piece is %d bytes, not %d", n, s.size)
	case sum.Root != want.Root && s.target.given.Version == 2 && s.target.given.PaddedSize > sum.PaddedSize:
		return says(Warn, "not judged: the %d bytes are less than half of the piece, without the zeros that fill it up", n)
	case sum.Root != want.Root:
		return says(Fail, "the bytes are another piece's: %s", sum.V1())
	}
	return says(Pass, "the piece CID of the %d bytes is right (read in %.1f s)", n, time.Since(started).Seconds())
}

// rereadBytes is the length of a range that a piece reader (of lotus) once got wrong: just
// beyond 8 MiB.
const rereadBytes = 8_389_747

func (s *session) readTwice(most int64) outcome {
	n := min(rereadBytes, most, s.size)
	if n <= 0 || s.first.status != http.StatusPartialContent {
		return says(Skip, "not checked: the piece is beyond --max-bytes, and there are no ranges")
	}
	from := rand.Int64N(s.size - n + 1)
	spec := spanOf(from, from+n-1)
	var sums [2][sha256.Size]byte
	for i := range sums {
		response, _, err := s.open(s.client, s.span(from, from+n-1), longTimeouts/2*s.options.Timeout)
		if err != nil {
			return says(Fail, "%s: %s", spec, s.failure(err))
		}
		hash := sha256.New()
		got, err := io.Copy(hash, io.LimitReader(response.Body, n+1))
		response.Body.Close()
		switch {
		case err != nil:
			return says(Fail, "%s: status %d, %d bytes, then %s", spec, response.StatusCode, got, s.failure(err))
		case got != n || response.StatusCode != http.StatusPartialContent:
			return says(Fail, "%s: status %d, %d bytes or more", spec, response.StatusCode, got)
		}
		sums[i] = [sha256.Size]byte(hash.Sum(nil))
	}
	if sums[0] != sums[1] {
		return says(Fail, "%s has other bytes the second time", spec)
	}
	return says(Pass, "%s twice: the same bytes; the whole piece is beyond --max-bytes %s", spec, bytesize.String(s.options.MaxBytes))
}
