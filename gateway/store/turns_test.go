package store_test

import (
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/gateway/store"
	"piecebench/internal/testset"
)

// held is a store whose reads stop where they are observed, in the middle of
// their turns.
type held struct {
	store.Store
	reads atomic.Int64  // that came so far
	let   chan struct{} // lets one go on
}

func newHeld(t *testing.T, name, dir string, reads int) *held {
	t.Helper()
	h := &held{let: make(chan struct{})}
	s, err := store.New(name, store.Config{Dir: dir, Reads: reads, Observe: func(time.Duration) {
		h.reads.Add(1)
		<-h.let
	}})
	if err != nil {
		t.Fatal(err)
	}
	h.Store = s
	return h
}

// send starts n sends of one byte, to sockets that take it, and returns where
// each tells how it ended. There is room for some more.
func (h *held) send(t *testing.T, d testset.Dataset, n, more int) chan error {
	t.Helper()
	ended := make(chan error, n+more)
	for range n {
		o, err := h.Open(d.Manifest.Pieces[0])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { o.Close() })
		socket, _ := socketPair(t)
		go func() {
			_, err := o.Send(socket, 0, 1)
			ended <- err
		}()
	}
	return ended
}

// readsInSend is how often a send of a byte reads.
var readsInSend = map[string]int64{store.UnsealedName: 1, store.FlatName: 2}

// Of many transfers whose sockets are writable, as many send at a time as there
// are processors. When all did, each other one waited behind all of them, and
// so did every new connection and request.
func TestTransfersTakeTurns(t *testing.T) {
	const transfers = 64
	processors := int64(runtime.GOMAXPROCS(0))
	d := testset.Import(t, t.TempDir(), 1000)
	for _, name := range names {
		h := newHeld(t, name, d.Dir, transfers)
		ended := h.send(t, d, transfers, 0)
		for done := int64(0); done < transfers*readsInSend[name]; done++ {
			// Those that were let go on, and one of each turn that is taken now.
			eventually(t, "a read in every turn", func() bool {
				return h.reads.Load() >= min(done+processors, transfers*readsInSend[name]-processors)
			})
			if n := h.reads.Load(); n > done+processors {
				t.Fatalf("%s: %d sends at a time on %d processors", name, n-done, processors)
			}
			h.let <- struct{}{}
		}
		for range transfers {
			if err := <-ended; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// The first bytes of a response need none of what transfers take turns at: with
// every turn taken, and every read that may wait for the disk, they still come.
func TestFirstBytesWaitForNoTransfer(t *testing.T) {
	processors := runtime.GOMAXPROCS(0)
	d := testset.Import(t, t.TempDir(), 1000)
	for _, name := range names {
		h := newHeld(t, name, d.Dir, processors)
		ended := h.send(t, d, processors, 1)
		eventually(t, "all turns taken", func() bool { return h.reads.Load() == int64(processors) })
		o, err := h.Open(d.Manifest.Pieces[0])
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		go func() {
			_, err := o.ReadAt(make([]byte, 512), 0)
			ended <- err
		}()
		eventually(t, name+": first bytes read while transfers hold all turns", func() bool {
			return h.reads.Load() == int64(processors)+1
		})
		close(h.let)
		for range processors + 1 {
			if err := <-ended; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// What is not in the page cache is read all the same, and arrives right.
func TestSendFromDisk(t *testing.T) {
	d := testset.Import(t, t.TempDir(), 127*100, 2_000_000)
	p := d.Manifest.Pieces[1]
	want := d.Bytes(p)
	for _, name := range names {
		o := openPiece(t, name, d, p)
		socket, peer := socketPair(t)
		evict(t, filepath.Join(d.Dir, file(name, p)))
		var got []byte
		part := make([]byte, 64<<10)
		for int64(len(got)) < p.UnpaddedSize() {
			n, err := o.Send(socket, int64(len(got)), p.UnpaddedSize()-int64(len(got)))
			if err != nil && err != unix.EAGAIN {
				t.Fatalf("%s: %v", name, err)
			}
			for n > 0 {
				read, err := peer.Read(part[:min(n, int64(len(part)))])
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, part[:read]...)
				n -= int64(read)
			}
		}
		if string(got) != string(want) {
			t.Errorf("%s: wrong bytes", name)
		}
	}
}

// evict drops a file from the page cache.
func evict(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	if n, err := unix.Preadv2(int(f.Fd()), [][]byte{make([]byte, 1)}, 0, 0x8); n == 1 {
		t.Skipf("SKIPPED: %s stays in the page cache (its file system is in memory?): nothing to read from disk here", path)
	} else if err != unix.EAGAIN {
		t.Logf("this file system has no reads that do not wait: %v", err)
	}
}

// eventually waits until a condition holds.
func eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("still not: %s", what)
		}
	}
}
