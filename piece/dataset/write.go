package dataset

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"

	"piecebench/piece/checksum"
	"piecebench/piece/commp"
	"piecebench/piece/fr32"
	"piecebench/piece/payload"
	"piecebench/piece/piececid"

	"golang.org/x/sync/errgroup"
)

// source gives a piece's payload in parts, in any order, to several
// goroutines. next fills buf, commp.PartPayload bytes, with a part, and
// returns which one and how long it is; io.EOF after the last.
type source interface {
	next(buf []byte) (part, n int, err error)
}

// output is where one piece is written to. A nil file is not written.
type output struct {
	flat         io.WriterAt // payload at 0
	sector       io.WriterAt // padded form at sectorOffset
	sectorOffset int64
}

// parts returns the number of parts of a piece.
func parts(paddedSize int64) int { return int((paddedSize-1)/commp.PartPadded + 1) }

type buffers struct{ payload, padded [commp.PartPadded]byte }

var bufferPool = sync.Pool{New: func() any { return new(buffers) }}

// writePiece writes a piece of this padded size, and returns its root. It
// leaves parts with no payload to be holes. add is called with the number of
// payload bytes done.
func writePiece(ctx context.Context, src source, paddedSize int64, out output, add func(int64)) (piececid.Root, error) {
	roots := make([]piececid.Root, parts(paddedSize))
	partSize := min(paddedSize, commp.PartPadded)
	last := -1
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	work := func() error {
		b := bufferPool.Get().(*buffers)
		defer bufferPool.Put(b)
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			whole, padded := b.payload[:partSize/fr32.Padded*fr32.Payload], b.padded[:partSize]
			part, n, err := src.next(whole)
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			if part >= len(roots) {
				return fmt.Errorf("more payload than a piece of %d padded bytes holds", paddedSize)
			}
			if out.flat != nil {
				if _, err := out.flat.WriteAt(whole[:n], int64(part)*commp.PartPayload); err != nil {
					return err
				}
			}
			clear(whole[n:])
			fr32.Pad(padded, whole)
			if out.sector != nil {
				if _, err := out.sector.WriteAt(padded, out.sectorOffset+int64(part)*commp.PartPadded); err != nil {
					return err
				}
			}
			root := commp.Root(padded)
			mu.Lock()
			roots[part] = root
			last = max(last, part)
			mu.Unlock()
			add(int64(n))
		}
	}
	for range min(runtime.GOMAXPROCS(0), len(roots)) {
		g.Go(work)
	}
	if err := g.Wait(); err != nil {
		return piececid.Root{}, err
	}
	return commp.Join(roots[:last+1], paddedSize), nil
}

// generator is the payload of a generated piece.
type generator struct {
	stream *payload.Stream
	size   int64

	mu   sync.Mutex
	part int // the next one
}

func (g *generator) next(buf []byte) (part, n int, err error) {
	g.mu.Lock()
	part = g.part
	g.part++
	g.mu.Unlock()
	offset := int64(part) * commp.PartPayload
	if offset >= g.size {
		return 0, 0, io.EOF
	}
	n = int(min(int64(len(buf)), g.size-offset))
	g.stream.Fill(buf[:n], offset)
	return part, n, nil
}

// reader is the payload of an imported piece, whose checksums it makes.
type reader struct {
	r io.Reader

	mu   sync.Mutex
	part int   // the next one
	size int64 // read so far
	sums checksum.Builder
}

func (r *reader) next(buf []byte) (part, n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n < len(buf) && err == nil {
		var m int
		m, err = r.r.Read(buf[n:])
		n += m
	}
	if err == io.EOF && n > 0 {
		err = nil
	}
	if err != nil {
		return 0, 0, err
	}
	r.size += int64(n)
	r.sums.Write(buf[:n])
	part = r.part
	r.part++
	return part, n, nil
}
