package netem

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"piecebench/netem/client"
	"piecebench/netem/link"
)

// testLab is two network namespaces joined by a veth pair to be shaped, and one
// that is not.
type testLab struct {
	t                *testing.T
	clients, servers string // namespaces
}

const (
	shapedAddr  = "198.18.0.2:9100" // the agent, through the link
	controlAddr = "198.18.1.2:9100" // the agent, around it
)

var labNumber atomic.Int64

func newLab(t *testing.T) *testLab {
	t.Helper()
	needRoot(t)
	name := fmt.Sprintf("pbnet-%d-%d", os.Getpid(), labNumber.Add(1))
	l := &testLab{t: t, clients: name + "-c", servers: name + "-s"}
	for _, ns := range []string{l.clients, l.servers} {
		run(t, "ip", "netns", "add", ns)
		t.Cleanup(func() { run(t, "ip", "netns", "del", ns) })
	}
	for _, dev := range []string{"shaped0", "control0"} {
		run(t, "ip", "link", "add", dev, "netns", l.servers, "type", "veth", "peer", "name", dev, "netns", l.clients)
	}
	for i, ns := range []string{l.clients, l.servers} {
		run(t, "ip", "-n", ns, "link", "set", "lo", "up")
		for j, dev := range []string{"shaped0", "control0"} {
			run(t, "ip", "-n", ns, "addr", "add", fmt.Sprintf("198.18.%d.%d/24", j, i+1), "dev", dev)
			run(t, "ip", "-n", ns, "link", "set", "dev", dev, "up")
		}
		l.inNamespace(ns, func() {
			for _, setting := range [][2]string{
				{"tcp_rmem", "4096 131072 67108864"}, {"tcp_wmem", "4096 65536 67108864"},
				{"tcp_no_metrics_save", "1"}, {"tcp_congestion_control", congestionControl()},
			} {
				if err := os.WriteFile("/proc/sys/net/ipv4/"+setting[0], []byte(setting[1]), 0); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	for _, dev := range []string{"shaped0", "control0"} { // carrier comes a moment later
		for !strings.Contains(run(t, "ip", "-n", l.servers, "link", "show", "dev", dev), "state UP") {
			time.Sleep(5 * time.Millisecond)
		}
	}
	return l
}

// congestionControl prefers cubic, which a namespace may only have where the host allows it.
func congestionControl() string {
	text, _ := os.ReadFile("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
	if strings.Contains(string(text), "cubic") {
		return "cubic"
	}
	return "reno"
}

func run(t *testing.T, argv ...string) string {
	t.Helper()
	text, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(argv, " "), err, text)
	}
	return string(text)
}

// inNamespace runs f on a thread in a namespace. Sockets stay where they are made.
func (l *testLab) inNamespace(ns string, f func()) {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		fd, err := unix.Open("/run/netns/"+ns, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Setns(fd, unix.CLONE_NEWNET)
			unix.Close(fd)
		}
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		l.t.Fatalf("enter namespace %s: %v", ns, err)
	}
}

// testAgent is a netem-agent process.
type testAgent struct {
	*client.Client
	lab *testLab
	cmd *exec.Cmd
	log *lockedBuffer
}

// start runs an agent in the servers' namespace, until the test ends.
func (l *testLab) start(backend string, args ...string) *testAgent {
	l.t.Helper()
	a := &testAgent{lab: l, log: new(lockedBuffer)}
	a.cmd = exec.Command("ip", append([]string{"netns", "exec", l.servers, agentBinary, "--device", "shaped0", "--backend", backend}, args...)...)
	a.cmd.Stderr = a.log
	if err := a.cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { a.cmd.Wait(); close(exited) }()
	l.t.Cleanup(func() {
		a.cmd.Process.Signal(unix.SIGTERM)
		<-exited
		if l.t.Failed() {
			l.t.Logf("the agent's log:\n%s", a.log)
		}
	})
	a.Client = l.client(controlAddr)
	deadline := time.Now().Add(20 * time.Second)
	for {
		if _, err := a.Link(context.Background()); err == nil {
			return a
		} else if time.Now().After(deadline) {
			l.t.Fatalf("the agent does not answer: %v\n%s", err, a.log)
		}
		select {
		case <-exited:
			l.t.Fatalf("the agent has ended:\n%s", a.log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the agent with a signal and waits for it.
func (a *testAgent) stop(signal os.Signal) {
	a.lab.t.Helper()
	if err := a.cmd.Process.Signal(signal); err != nil {
		a.lab.t.Fatal(err)
	}
	for a.cmd.Process.Signal(unix.Signal(0)) == nil {
		time.Sleep(5 * time.Millisecond)
	}
}

func (a *testAgent) set(notation string) client.State {
	a.lab.t.Helper()
	spec, err := link.Parse(notation)
	if err != nil {
		a.lab.t.Fatal(err)
	}
	state, err := a.SetLink(context.Background(), spec)
	if err != nil {
		a.lab.t.Fatal(err)
	}
	if state.Spec() != spec {
		a.lab.t.Fatalf("asked for %s, the agent says %s", spec, state.Spec())
	}
	return state
}

// client returns a client whose connections come from the clients' namespace.
func (l *testLab) client(addr string) *client.Client {
	c := client.New("http://" + addr)
	c.HTTP.Transport = &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return l.dial(addr, 5*time.Second) },
	}
	return c
}

func (l *testLab) dial(addr string, timeout time.Duration) (conn net.Conn, err error) {
	l.inNamespace(l.clients, func() { conn, err = net.DialTimeout("tcp4", addr, timeout) })
	return conn, err
}

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
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", client.BlobPath(1<<40))
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
	l.inNamespace(l.servers, func() {
		ln, err := net.Listen("tcp", addr)
		if err != nil {
			l.t.Error(err)
			return
		}
		server := &http.Server{Handler: blob}
		l.t.Cleanup(func() { server.Close() })
		go server.Serve(ln)
	})
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
	// Room for all of them: only the link loses packets.
	raw, err := in.SyscallConn()
	if err != nil {
		l.t.Fatal(err)
	}
	if failed := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 256<<20) }); failed != nil || err != nil {
		l.t.Fatal(failed, err)
	}
	packet := make([]byte, 64)
	for range n {
		if _, err := out.Write(packet); err != nil {
			l.t.Fatal(err)
		}
	}
	for {
		in.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
		if _, err := in.Read(packet); err != nil {
			return received
		}
		received++
	}
}

// discard receives without copying, for what a copy costs would limit the link.
func discard(conn net.Conn, total *atomic.Int64) {
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, 1<<20)
	for {
		var n int
		var failed error
		err := raw.Read(func(fd uintptr) bool {
			n, _, failed = unix.Recvfrom(int(fd), buf, unix.MSG_TRUNC)
			return failed != unix.EAGAIN
		})
		if err != nil || failed != nil || n <= 0 {
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
	start := time.Now()
	before := l.receivedBytes()
	time.Sleep(window)
	after := l.receivedBytes()
	return float64(after-before) * 8 / time.Since(start).Seconds()
}

func (l *testLab) receivedBytes() (bytes int64) {
	l.t.Helper()
	l.inNamespace(l.clients, func() {
		text, err := os.ReadFile("/proc/thread-self/net/dev")
		if err != nil {
			l.t.Error(err)
			return
		}
		_, line, _ := strings.Cut(string(text), "shaped0:")
		if _, err := fmt.Sscan(line, &bytes); err != nil {
			l.t.Errorf("read the bytes that shaped0 received: %v", err)
		}
	})
	return bytes
}

// networkState is everything of the servers' namespace that an agent may change.
func (l *testLab) networkState() string {
	l.t.Helper()
	var text strings.Builder
	for _, argv := range [][]string{
		{"tc", "qdisc"}, {"ip", "-4", "rule"}, {"ip", "-6", "rule"}, {"ip", "-d", "link"},
		// Of IPv4 alone: link-local addresses come by themselves a second later.
		{"ip", "-4", "route", "show", "table", "all"}, {"ip", "-4", "addr"},
	} {
		if argv[1] == "-6" && !hasIPv6() {
			continue
		}
		argv = append([]string{argv[0], "-n", l.servers}, argv[1:]...)
		fmt.Fprintf(&text, "$ %s\n%s", strings.Join(argv, " "), run(l.t, argv...))
	}
	if _, err := exec.LookPath("nft"); err == nil && !inUML() {
		text.WriteString(run(l.t, "ip", "netns", "exec", l.servers, "nft", "list", "ruleset"))
	}
	l.inNamespace(l.servers, func() {
		root := "/proc/sys/net/ipv4"
		err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			value, err := os.ReadFile(path)
			if err == nil {
				fmt.Fprintf(&text, "%s=%s", path, value)
			}
			return nil // some are write-only
		})
		if err != nil {
			l.t.Error(err)
		}
	})
	// Counts references, and changes by itself.
	return regexp.MustCompile(`refcnt \d+`).ReplaceAllString(text.String(), "")
}

// lockedBuffer is a buffer that a process writes to while the test reads it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
