package wire_test

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/gateway/store"
	"piecebench/gateway/wire"
	"piecebench/internal/testset"
)

func listen(t *testing.T, maxConns int) *wire.Listener {
	t.Helper()
	l, err := wire.Listen("127.0.0.1:0", time.Minute, maxConns)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func dial(t *testing.T, l *wire.Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// One connection more than the limit waits until another is closed; closing
// one twice makes room once.
func TestConnectionLimit(t *testing.T) {
	l := listen(t, 1)
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	dial(t, l)
	first := <-accepted
	dial(t, l)
	dial(t, l)
	if n := l.Connections(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	first.Close()
	first.Close()
	second := <-accepted
	if n := l.Connections(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	second.Close()
	(<-accepted).Close()
}

// A section arrives whole and in order while its reader is slower than its
// writer, and counts what it sends.
func TestSectionOverTCP(t *testing.T) {
	d := testset.Import(t, t.TempDir(), 3<<20)
	p := d.Manifest.Pieces[0]
	want := d.Bytes(p)
	for _, name := range []string{store.UnsealedName, store.FlatName} {
		s, err := store.New(name, store.Config{Dir: d.Dir, Reads: 1, Observe: func(time.Duration) {}})
		if err != nil {
			t.Fatal(err)
		}
		object, err := s.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		defer object.Close()
		l := listen(t, 10)
		client := dial(t, l)
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		const off = 12_345
		var counted int64
		result := make(chan error, 1)
		go func() {
			defer server.Close()
			n, err := io.Copy(server, wire.NewSection(object, off, int64(len(want))-off, func(n int64) { counted += n }))
			if err == nil && n != counted {
				err = errors.New("counted otherwise than sent")
			}
			result <- err
		}()
		got, err := io.ReadAll(client)
		if err := errors.Join(err, <-result); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if string(got) != string(want[off:]) {
			t.Errorf("%s: wrong bytes", name)
		}
	}
}

// broken is an object whose file fails after some bytes.
type broken struct {
	store.Object
	left int64
}

func (b *broken) Send(socket int, _, n int64) (int64, error) {
	if b.left == 0 {
		return 0, &store.Error{Path: "x", Err: unix.EIO}
	}
	sent, err := unix.Write(socket, make([]byte, min(n, b.left)))
	b.left -= int64(max(sent, 0))
	return int64(max(sent, 0)), err
}

func TestSectionTellsStoreErrors(t *testing.T) {
	l := listen(t, 1)
	client := dial(t, l)
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(server, wire.NewSection(&broken{left: 1000}, 0, 5000, func(int64) {}))
	if _, ok := errors.AsType[*store.Error](err); !ok || n != 1000 {
		t.Errorf("%d bytes, %v; want 1000 and the store's error", n, err)
	}
	server.Close()
	if got, err := io.ReadAll(client); len(got) != 1000 || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestPeerThatResets(t *testing.T) {
	d := testset.Import(t, t.TempDir(), 3<<20)
	s := store.NewUnsealed(store.Config{Dir: d.Dir, Reads: 1, Observe: func(time.Duration) {}})
	object, err := s.Open(d.Manifest.Pieces[0])
	if err != nil {
		t.Fatal(err)
	}
	defer object.Close()
	l := listen(t, 1)
	client := dial(t, l)
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client.(*net.TCPConn).SetLinger(0)
	client.Close()
	_, err = io.Copy(server, wire.NewSection(object, 0, 3<<20, func(int64) {}))
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("%v, want a reset", err)
	}
}
