package store

import "sync"

// buffer holds one block, before and after unpadding.
type buffer struct {
	padded  [blockPadded]byte
	payload [blockPayload]byte
}

// buffers lends buffers. The last one returned is lent first, as it is most
// likely still in a cache; and only so many are ever made as were lent at the
// same time.
type buffers struct {
	mu   sync.Mutex
	free []*buffer
}

func (b *buffers) get() *buffer {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last := len(b.free) - 1; last >= 0 {
		buf := b.free[last]
		b.free = b.free[:last]
		return buf
	}
	return new(buffer)
}

func (b *buffers) put(buf *buffer) {
	b.mu.Lock()
	b.free = append(b.free, buf)
	b.mu.Unlock()
}
