package netem

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"piecebench/internal/receive"
	"piecebench/netem/client"
)

// rtts returns the RTTs of n connections, one after the other, sorted, as the
// clients' kernel measured them in the handshake: how long a process then waits
// for a CPU is not the link's. The first connection waits for ARP and is left out.
func (l *testLab) rtts(addr string, n int) []time.Duration {
	l.t.Helper()
	var times []time.Duration
	for i := range n + 1 {
		conn, err := l.dial(addr, 5*time.Second)
		if err != nil {
			l.t.Fatal(err)
		}
		raw, err := conn.(*net.TCPConn).SyscallConn()
		if err != nil {
			l.t.Fatal(err)
		}
		var info *unix.TCPInfo
		if failed := raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }); failed != nil || err != nil {
			l.t.Fatal(failed, err)
		}
		conn.Close()
		if i > 0 {
			times = append(times, time.Duration(info.Rtt)*time.Microsecond)
		}
	}
	slices.Sort(times)
	return times
}

// load is downloads through the link that run until the test stops them.
type load struct {
	bytes atomic.Int64
	conns []net.Conn
	wait  sync.WaitGroup
}

func (l *testLab) startLoad(flows int) *load {
	l.t.Helper()
	return l.startLoadFrom(shapedAddr, flows)
}

func (l *testLab) startLoadFrom(addr string, flows int) *load {
	l.t.Helper()
	ld := &load{conns: make([]net.Conn, flows)}
	var dials errgroup.Group
	for i := range flows {
		dials.Go(func() (err error) {
			ld.conns[i], err = l.dial(addr, 20*time.Second)
			return err
		})
	}
	if err := dials.Wait(); err != nil {
		l.t.Fatal(err)
	}
	for _, conn := range ld.conns {
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", client.BlobPath(1<<40), addr)
		ld.wait.Go(func() { discard(conn, &ld.bytes) })
	}
	l.t.Cleanup(ld.stop)
	return ld
}

func (ld *load) stop() {
	for _, conn := range ld.conns {
		conn.Close()
	}
	ld.wait.Wait()
}

// serveBlobs serves /blob from this process, at an address of the servers.
func (l *testLab) serveBlobs(addr string) {
	l.t.Helper()
	blob, err := newBlob()
	if err != nil {
		l.t.Fatal(err)
	}
	server := &http.Server{Handler: blob}
	l.t.Cleanup(func() { server.Close() })
	go server.Serve(l.listen(addr))
}

// listen listens at an address of the servers until the test ends.
func (l *testLab) listen(addr string) (listener net.Listener) {
	l.t.Helper()
	var err error
	l.inNamespace(l.servers, func() { listener, err = net.Listen("tcp", addr) })
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { listener.Close() })
	return listener
}

// sendDatagrams sends n packets from the servers to the clients, and returns
// how many came.
func (l *testLab) sendDatagrams(n int) (received int) {
	l.t.Helper()
	var in, out *net.UDPConn
	var err error
	l.inNamespace(l.clients, func() { in, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(198, 18, 0, 1), Port: 9200}) })
	if err != nil {
		l.t.Fatal(err)
	}
	defer in.Close()
	l.inNamespace(l.servers, func() { out, err = net.DialUDP("udp4", nil, in.LocalAddr().(*net.UDPAddr)) })
	if err != nil {
		l.t.Fatal(err)
	}
	defer out.Close()
	// Room for all of a part: only the link loses packets.
	raw, err := in.SyscallConn()
	if err != nil {
		l.t.Fatal(err)
	}
	if failed := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 256<<20) }); failed != nil || err != nil {
		l.t.Fatal(failed, err)
	}
	// A link that is late holds what it was given, and drops what is too much for
	// its queue. So a part is sent only when the one before it is through: packets
	// stay in order, and a mark is sent until one arrives.
	const part = 1000
	for sent := 0; sent < n; sent += part {
		for range min(part, n-sent) {
			if _, err := out.Write([]byte("packet")); err != nil {
				l.t.Fatal(err)
			}
		}
		for buf, mark := make([]byte, 64), fmt.Sprintf("mark %d", sent); ; {
			if _, err := out.Write([]byte(mark)); err != nil {
				l.t.Fatal(err)
			}
			count, through := receiveUntil(in, buf, mark)
			received += count
			if through {
				break
			}
		}
	}
	return received
}

// receiveUntil counts datagrams until the mark arrives, or none does for a while.
func receiveUntil(in *net.UDPConn, buf []byte, mark string) (received int, through bool) {
	for {
		in.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		n, err := in.Read(buf)
		switch {
		case err != nil:
			return received, false
		case string(buf[:n]) == mark:
			return received, true
		case string(buf[:n]) == "packet":
			received++
		}
	}
}

// discard receives without copying, for what a copy costs would limit the link.
func discard(conn net.Conn, total *atomic.Int64) {
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return
	}
	// Few wake-ups: system calls are dear in User-Mode Linux, which has one CPU.
	if raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, 128<<10) }) != nil || err != nil {
		return
	}
	for {
		n, err := receive.Drop(raw, 1<<20)
		if err != nil || n == 0 {
			return
		}
		total.Add(int64(n))
	}
}

// rate returns the goodput in bits per second that was read in a window.
func (ld *load) rate(window time.Duration) float64 {
	start, before := time.Now(), ld.bytes.Load()
	time.Sleep(window)
	return float64(ld.bytes.Load()-before) * 8 / time.Since(start).Seconds()
}

// wireRate returns what arrived at the clients' device in a window, in bits per
// second. Read from the kernel, and over the longest time that the window may
// have been, it is never too high, however late this process gets a CPU.
func (l *testLab) wireRate(window time.Duration) float64 {
	l.t.Helper()
	before, start, _ := l.receivedBytes()
	time.Sleep(window)
	after, _, end := l.receivedBytes()
	return float64(after-before) * 8 / end.Sub(start).Seconds()
}

// receivedBytes returns the counter, and the times between which it was read.
func (l *testLab) receivedBytes() (bytes int64, from, to time.Time) {
	l.t.Helper()
	l.inNamespace(l.clients, func() {
		from = time.Now()
		text, err := os.ReadFile("/proc/thread-self/net/dev")
		to = time.Now()
		if err != nil {
			l.t.Error(err)
			return
		}
		_, line, _ := strings.Cut(string(text), "shaped0:")
		if _, err := fmt.Sscan(line, &bytes); err != nil {
			l.t.Errorf("read the bytes that shaped0 received: %v", err)
		}
	})
	return bytes, from, to
}
