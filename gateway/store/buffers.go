package store

import "sync"

// buffer holds one block, before and after unpadding.
type buffer struct {
	padded  [blockPadded]byte
	payload [blockPayload]byte
}

// buffers is a pool of buffers. It hands out the last one returned first, which is most
// likely still in a CPU cache. It allocates a buffer only if all others are in use.
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
