package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"time"

	"piecebench/internal/plain"
	"piecebench/piece"
	"piecebench/piece/checksum"
	"piecebench/piece/commp"
	"piecebench/piece/piececid"
)

// Summer computes the CIDs and checksums of pieces while they are downloaded. Its
// memory, about 3 MB for each buffer, is all that pieces take in parallel.
type Summer struct {
	server *Server
	free   chan *buffer
}

type buffer struct {
	payload [unitSize]byte
	padded  [commp.PartPadded]byte
}

// maxBuffers bounds a Summer to about 100 MB.
const maxBuffers = 32

// NewSummer returns a Summer for at most so many pieces in parallel.
func NewSummer(s *Server, pieces int) *Summer {
	n := min(pieces+2*runtime.GOMAXPROCS(0), max(maxBuffers, pieces+1))
	sum := &Summer{server: s, free: make(chan *buffer, n)}
	for range n {
		sum.free <- new(buffer)
	}
	return sum
}

// Retries of a download: the number of attempts in a row that got nothing, and how
// long an attempt may wait for a byte. Variables, for tests.
var (
	maxAttempts = 5
	firstPause  = time.Second
	stall       = time.Minute
)

// Sum downloads a piece's payload once and returns the content of its file of checksums.
// The journal, a file at this path, holds what is done: Sum goes on from there, also
// where a connection or an earlier process ended. add gets the bytes that are done. The
// error is a *Mismatch if the payload has another CID; there is no journal then.
func (s *Summer) Sum(ctx context.Context, p piece.Piece, path string, add func(int64)) ([]byte, error) {
	j, err := openJournal(path, p.PayloadSize/unitSize)
	if err != nil {
		return nil, err
	}
	defer j.file.Close()
	add(j.offset())
	var last unit // of less than unitSize
	for attempt := 1; ; attempt++ {
		before := j.units
		last, err = s.download(ctx, p, j, add)
		if err == nil {
			break
		}
		if j.units > before {
			attempt = 0
		}
		if ctx.Err() != nil || attempt == maxAttempts || refused(err) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(firstPause << attempt):
		}
	}
	var sums []byte
	var roots []piececid.Root
	collect := func(u unit) {
		sums = append(sums, u.sums...)
		roots = append(roots, u.roots...)
	}
	if err := j.each(collect); err != nil {
		return nil, err
	}
	collect(last)
	want, err := piececid.Parse(p.CID)
	if err != nil {
		return nil, err
	}
	if root := commp.Join(roots, p.PaddedSize); root != want.Root {
		return nil, errors.Join(&Mismatch{p.CID, fmt.Sprintf("the %d bytes that the server sent are those of %s", p.PayloadSize, piececid.V1(root))}, os.Remove(path))
	}
	return sums, nil
}

// refused tells whether it is of no use to ask again.
func refused(err error) bool {
	status := (*statusError)(nil)
	return errors.As(err, &status) && status.status < 500 && status.status != http.StatusTooManyRequests && status.status != http.StatusRequestTimeout
}

// download adds units to the journal until the payload ends, or the connection, and
// returns what is left after the last whole unit.
func (s *Summer) download(ctx context.Context, p piece.Piece, j *journal, add func(int64)) (last unit, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silent := time.AfterFunc(stall, cancel)
	defer silent.Stop()
	if p.PayloadSize == j.offset() {
		return unit{}, nil
	}
	answer, at, err := s.server.open(ctx, p, j.offset())
	if err != nil {
		return unit{}, err
	}
	defer answer.Close()
	body := watched{answer, silent}
	if _, err := io.CopyN(io.Discard, body, j.offset()-at); err != nil {
		return unit{}, fmt.Errorf("piece %s: %s", p.CID, plain.Error(err))
	}

	// Units are hashed side by side, and taken in their order.
	results := make(chan chan unit, cap(s.free))
	read := make(chan error, 1)
	first, left := j.units == 0, p.PayloadSize-j.offset()
	go func() {
		defer close(results)
		for left > 0 {
			b := <-s.free
			data := b.payload[:min(left, unitSize)]
			if _, err := io.ReadFull(body, data); err != nil {
				s.free <- b
				read <- err
				return
			}
			left -= int64(len(data))
			result := make(chan unit, 1)
			results <- result
			go func(first bool) {
				u := b.unit(data, first)
				s.free <- b
				result <- u
			}(first)
			first = false
		}
		read <- nil
	}()
	var failed error
	for result := range results {
		last = <-result
		if failed != nil {
			continue
		}
		if j.offset()+unitSize > p.PayloadSize {
			add(p.PayloadSize - j.offset())
			continue // the last one, which is not a whole one
		}
		if failed = j.append(last); failed != nil {
			cancel()
		}
		last = unit{}
		add(unitSize)
	}
	if failed != nil {
		return unit{}, failed
	}
	if err := <-read; err != nil {
		return unit{}, fmt.Errorf("piece %s: after %d of %d bytes: %s", p.CID, j.offset(), p.PayloadSize, plain.Error(err))
	}
	return last, nil
}

// unit computes what is kept of a stretch of payload. first is of the piece's start.
func (b *buffer) unit(data []byte, first bool) unit {
	u := unit{sums: checksum.Of(data)}
	for at := 0; at < len(data); at += commp.PartPayload {
		part := data[at:min(at+commp.PartPayload, len(data)):min(at+commp.PartPayload, unitSize)]
		u.roots = append(u.roots, commp.PartRoot(b.padded[:], part, first && at == 0))
	}
	return u
}

// watched puts off the end that a silent server's download has.
type watched struct {
	body   io.Reader
	silent *time.Timer
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	if n > 0 {
		w.silent.Reset(stall)
	}
	return n, err
}
