package netem

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/internal/uml"
	"piecebench/netem/client"
	"piecebench/netem/link"
)

// testLab is two network namespaces joined by a veth pair to be shaped, and one
// that is not.
type testLab struct {
	t                *testing.T
	clients, servers string // namespaces
	token            string // that its clients show to the agent
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
			// As in the lab.
			run(t, "ip", "-n", ns, "route", "change", fmt.Sprintf("198.18.%d.0/24", j), "dev", dev, "src", fmt.Sprintf("198.18.%d.%d", j, i+1), "congctl", "cubic")
		}
		l.inNamespace(ns, func() {
			for _, setting := range [][2]string{
				{"tcp_rmem", "4096 131072 67108864"}, {"tcp_wmem", "4096 65536 67108864"},
				{"tcp_no_metrics_save", "1"},
				// Full GSO packets at any pace: 128 flows at 1 Gbit/s otherwise are 40,000
				// packets a second, and more than User-Mode Linux's one CPU can do.
				{"tcp_min_tso_segs", "44"},
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
	if err := a.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		a.lab.t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); a.cmd.Process.Signal(unix.Signal(0)) == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			a.lab.t.Fatalf("the agent does not end after %v", signal)
		}
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
	c, err := client.New("http://"+addr, l.token)
	if err != nil {
		l.t.Fatal(err)
	}
	c.HTTP.Transport = &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return l.dial(addr, 5*time.Second) },
	}
	return c
}

func (l *testLab) dial(addr string, timeout time.Duration) (conn net.Conn, err error) {
	l.inNamespace(l.clients, func() { conn, err = net.DialTimeout("tcp4", addr, timeout) })
	return conn, err
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
	if _, err := exec.LookPath("nft"); err == nil && !uml.Inside() {
		text.WriteString(run(l.t, "ip", "netns", "exec", l.servers, "nft", "list", "ruleset"))
	}
	l.inNamespace(l.servers, func() {
		root := "/proc/sys/net/ipv4"
		err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // a device that goes meanwhile
			}
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
