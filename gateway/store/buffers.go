package store

import "sync"

// buffer holds one block, before and after unpadding.
type buffer struct {
	padded  [blockPadded]byte
	payload [blockPayload]byte
}

// buffers lends at most so many buffers as it was made with; who wants one
// more waits. The last one returned is lent first, as it is most likely still
// in a cache; and only so many are ever made as were lent at the same time.
type buffers struct {
	tokens chan struct{}
	mu     sync.Mutex
	free   []*buffer
}

func newBuffers(n int) *buffers { return &buffers{tokens: make(chan struct{}, n)} }

func (b *buffers) get() *buffer {
	b.tokens <- struct{}{}
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
	<-b.tokens
}
