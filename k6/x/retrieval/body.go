package retrieval

import (
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"

	"piecebench/piece/verify"
)

// maxBody is the most that is kept or decoded of one body, in bytes, and the most that
// one may decode to.
const maxBody = 1 << 30

// decodeStage is the stage of a job in which bodies are decoded.
const decodeStage = "decode"

// body is a sink that keeps what it is given, if the checker finds it right.
type body struct {
	bytes []byte
	check *verify.Checker // nil: none
	spare *[]byte         // where bytes come from that no script sees
}

// buffers are for bodies that no script sees.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func newBody(o *order, check *verify.Checker) *body {
	if !o.keep {
		spare := buffers.Get().(*[]byte)
		return &body{check: check, spare: spare, bytes: (*spare)[:0]}
	}
	return &body{check: check, bytes: make([]byte, 0, max(o.request.Length, 0))}
}

func (b *body) Write(p []byte) (int, error) {
	if b.check != nil {
		if n, err := b.check.Write(p); err != nil {
			return n, err
		}
	}
	b.bytes = append(b.bytes, p...)
	return len(p), nil
}

// release gives the buffer back, unless a script has it.
func (b *body) release() {
	if b.spare != nil {
		*b.spare = b.bytes
		buffers.Put(b.spare)
	}
}

// decoder is shared: as many bodies are decoded at once as there are CPUs.
var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithDecoderMaxMemory(maxBody))
})

// decode returns how many bytes a body decodes to.
func decode(body []byte) (int64, error) {
	d, err := decoder()
	if err != nil {
		return 0, err
	}
	spare := buffers.Get().(*[]byte)
	defer buffers.Put(spare)
	out, err := d.DecodeAll(body, (*spare)[:0])
	if cap(out) > cap(*spare) {
		*spare = out
	}
	return int64(len(out)), err
}
