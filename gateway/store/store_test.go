package store_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/gateway/store"
	"piecebench/internal/testset"
	"piecebench/piece"
)

var names = []string{store.UnsealedName, store.FlatName}

func newStore(tb testing.TB, name, dir string) store.Store {
	tb.Helper()
	s, err := store.New(name, store.Config{Dir: dir, Reads: 4, Observe: func(time.Duration) {}})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func openPiece(tb testing.TB, name string, d testset.Dataset, p piece.Piece) store.Object {
	tb.Helper()
	o, err := newStore(tb, name, d.Dir).Open(p)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { o.Close() })
	return o
}

// socketPair returns a non-blocking socket with a small send buffer, and the
// other end.
func socketPair(tb testing.TB) (socket int, peer *os.File) {
	tb.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		tb.Fatal(err)
	}
	if err := errors.Join(unix.SetNonblock(fds[0], true), unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_SNDBUF, 8<<10)); err != nil {
		tb.Fatal(err)
	}
	peer = os.NewFile(uintptr(fds[1]), "peer")
	tb.Cleanup(func() { unix.Close(fds[0]); peer.Close() })
	return fds[0], peer
}

// A socket that takes a little at a time gets every byte once, in order.
func TestSendThroughSmallSocketBuffer(t *testing.T) {
	d := testset.Import(t, t.TempDir(), 127*100, 500_000)
	p := d.Manifest.Pieces[1] // not at the sector's start
	want := d.Bytes(p)
	for _, name := range names {
		o := openPiece(t, name, d, p)
		for _, r := range [][2]int64{{0, p.UnpaddedSize()}, {1, 400_001}, {127*1024 - 1, 2}, {p.UnpaddedSize() - 1, 1}} {
			off, end := r[0], r[0]+r[1]
			socket, peer := socketPair(t)
			var got []byte
			blocked := 0
			for off < end {
				n, err := o.Send(socket, off, end-off)
				off += n
				if err != nil && err != unix.EAGAIN {
					t.Fatalf("%s %v: %v", name, r, err)
				}
				if err == nil && off < end {
					continue
				}
				blocked++
				part := make([]byte, off-r[0]-int64(len(got)))
				if _, err := io.ReadFull(peer, part); err != nil {
					t.Fatal(err)
				}
				got = append(got, part...)
			}
			if !bytes.Equal(got, want[r[0]:end]) {
				t.Errorf("%s %v: wrong bytes", name, r)
			}
			if r[1] > 100_000 && blocked < 2 {
				t.Errorf("%s %v: the socket never filled up, which this test is about", name, r)
			}
		}
	}
}

// A full socket is EAGAIN, a closed one its own error; neither is the store's.
func TestSendTellsSocketErrors(t *testing.T) {
	d := testset.Import(t, t.TempDir(), 500_000)
	for _, name := range names {
		o := openPiece(t, name, d, d.Manifest.Pieces[0])
		socket, peer := socketPair(t)
		for {
			n, err := o.Send(socket, 0, 400_000)
			if n == 0 && err == unix.EAGAIN {
				break
			}
			if err != nil && err != unix.EAGAIN {
				t.Fatal(err)
			}
		}
		peer.Close()
		if _, err := o.Send(socket, 0, 400_000); err != unix.EPIPE {
			t.Errorf("%s: %v, want EPIPE", name, err)
		}
	}
}

func TestOpenRefusesBrokenFiles(t *testing.T) {
	for _, name := range names {
		for what, spoil := range map[string]func(path string) error{
			"missing":   os.Remove,
			"short":     func(path string) error { info, _ := os.Stat(path); return os.Truncate(path, info.Size()-1) },
			"empty":     func(path string) error { return os.Truncate(path, 0) },
			"directory": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) },
		} {
			d := testset.Import(t, t.TempDir(), 1000)
			p := d.Manifest.Pieces[0]
			path := filepath.Join(d.Dir, file(name, p))
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			_, err := newStore(t, name, d.Dir).Open(p)
			if fault, ok := errors.AsType[*store.Error](err); !ok || fault.Path != path {
				t.Errorf("%s, %s file: %v", name, what, err)
			}
		}
		d := testset.Import(t, t.TempDir(), 1000)
		p := d.Manifest.Pieces[0]
		p.Flat, p.Sector = "", ""
		if _, err := newStore(t, name, d.Dir).Open(p); err == nil {
			t.Errorf("%s: a piece without a file was opened", name)
		}
	}
}

// A file that gets short while it is open is a fault, and no end of the piece.
func TestFileTruncatedWhileOpen(t *testing.T) {
	for _, name := range names {
		d := testset.Import(t, t.TempDir(), 1_000_000)
		p := d.Manifest.Pieces[0]
		o := openPiece(t, name, d, p)
		if err := os.Truncate(filepath.Join(d.Dir, file(name, p)), 4096); err != nil {
			t.Fatal(err)
		}
		socket, _ := socketPair(t)
		_, err := o.Send(socket, 500_000, 100)
		if _, ok := errors.AsType[*store.Error](err); !ok {
			t.Errorf("%s: Send: %v", name, err)
		}
		_, err = o.ReadAt(make([]byte, 100), 500_000)
		if _, ok := errors.AsType[*store.Error](err); !ok || errors.Is(err, io.EOF) {
			t.Errorf("%s: ReadAt: %v", name, err)
		}
	}
}

func TestUnknownStore(t *testing.T) {
	if _, err := store.New("sealed", store.Config{}); err == nil {
		t.Error("made a store of an unknown name")
	}
}

func file(name string, p piece.Piece) string {
	if name == store.FlatName {
		return p.Flat
	}
	return p.Sector
}

// FuzzReadAt maps ranges of a piece to groups of its sector.
func FuzzReadAt(f *testing.F) {
	d := testset.Import(f, f.TempDir(), 127*5, 3_000_000)
	p := d.Manifest.Pieces[1]
	want := d.Bytes(p)
	unsealed := openPiece(f, store.UnsealedName, d, p)
	f.Add(int64(0), int64(1))
	f.Add(int64(126), int64(2))
	f.Add(int64(127*1024-1), int64(127*1024+2))
	f.Add(int64(1), p.UnpaddedSize()-1)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		f.Add(rng.Int64N(p.UnpaddedSize()), rng.Int64N(400_000))
	}
	f.Fuzz(func(t *testing.T, off, n int64) {
		if off < 0 || off >= p.UnpaddedSize() || n < 0 {
			t.Skip()
		}
		n = min(n, p.UnpaddedSize()-off)
		got := make([]byte, n)
		if read, err := unsealed.ReadAt(got, off); err != nil || int64(read) != n || !bytes.Equal(got, want[off:off+n]) {
			t.Errorf("%d bytes at %d: read %d, %v; or wrong bytes", n, off, read, err)
		}
	})
}
