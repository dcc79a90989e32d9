package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"piecebench/gateway"
	"piecebench/internal/program"
	"piecebench/internal/testneeds"
	"piecebench/internal/testset"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// logFile is what a server logs.
type logFile struct{ *os.File }

func newLog(tb testing.TB) logFile {
	tb.Helper()
	f, err := os.Create(filepath.Join(tb.TempDir(), "log"))
	must(tb, err)
	tb.Cleanup(func() { f.Close() })
	return logFile{f}
}

// String returns all of it so far.
func (l logFile) String() string {
	text, _ := os.ReadFile(l.Name())
	return string(text)
}

// startNginx serves a dataset by nginx with this project's configuration, and
// returns its address. It skips the test where there is no nginx.
func startNginx(tb testing.TB, d testset.Dataset) string {
	tb.Helper()
	testneeds.Program(tb, "nginx")
	conf, err := os.ReadFile("../servers/nginx/nginx.conf")
	must(tb, err)
	address := freeAddress(tb)
	const listen = "listen 8080 " // only the port is not as in use
	if !bytes.Contains(conf, []byte(listen)) {
		tb.Fatalf("nginx.conf has no %q to put the test's port into", listen)
	}
	conf = bytes.Replace(conf, []byte(listen), []byte("listen "+address+" "), 1)
	dir := tb.TempDir()
	path := filepath.Join(dir, "nginx.conf")
	must(tb, os.WriteFile(path, conf, 0o644))
	me, err := user.Current()
	must(tb, err)
	startProcess(tb, address, "nginx", "-p", d.Dir, "-c", path, "-e", "stderr",
		"-g", fmt.Sprintf("daemon off; pid %s/pid; user %s;", dir, me.Username))
	return address
}

// startGateway serves a dataset by a gateway in this process, and returns its
// address. configure may change the defaults.
func startGateway(tb testing.TB, d testset.Dataset, configure func(*gateway.Config)) string {
	tb.Helper()
	g, _ := serveGateway(tb, d, configure)
	return g.Addr().String()
}

// serveGateway is startGateway for a test that needs the gateway itself, and
// what it logs.
func serveGateway(tb testing.TB, d testset.Dataset, configure func(*gateway.Config)) (*gateway.Gateway, logFile) {
	tb.Helper()
	c := gateway.DefaultConfig()
	c.Manifest, c.Listen = d.Path, "127.0.0.1:0"
	c.DrainTimeout = 100 * time.Millisecond
	if configure != nil {
		configure(&c)
	}
	log := newLog(tb)
	g, err := gateway.New(c, slog.New(slog.NewJSONHandler(log, nil)))
	must(tb, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- g.Serve(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("gateway: %v", err)
		}
	})
	return g, log
}

func buildGateway(tb testing.TB) string {
	tb.Helper()
	path, err := program.Build("piece-gateway")
	must(tb, err)
	return path
}

// startGatewayProcess runs the gateway's command on a dataset, and returns its
// address.
func startGatewayProcess(tb testing.TB, d testset.Dataset, args ...string) (string, *process) {
	tb.Helper()
	address := freeAddress(tb)
	return address, startProcess(tb, address, buildGateway(tb), append([]string{"--manifest", d.Path, "--listen", address}, args...)...)
}

// process is a child process. log is what it wrote to stderr.
type process struct {
	*os.Process
	log  logFile
	done <-chan error // its end, once
}

// startProcess runs a server until the test's end, and waits until it listens.
func startProcess(tb testing.TB, address, bin string, args ...string) *process {
	tb.Helper()
	log := newLog(tb)
	cmd := exec.Command(bin, args...)
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} // also when a test panics
	must(tb, cmd.Start())
	done := make(chan error, 1)
	ended := make(chan struct{})
	go func() { done <- cmd.Wait(); close(ended) }()
	tb.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			tb.Errorf("%s did not end after SIGTERM", strings.Join(cmd.Args, " "))
			cmd.Process.Kill()
			<-ended
		}
	})
	eventually(tb, address+" listens", func() bool {
		select {
		case <-ended:
			tb.Fatalf("%s ended: %s", strings.Join(cmd.Args, " "), log)
		default:
		}
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return &process{cmd.Process, log, done}
}

// freeAddress returns a loopback address that nothing listened on just now.
func freeAddress(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(tb, err)
	defer l.Close()
	return l.Addr().String()
}

// peakRSS returns the most memory that the process had resident so far, in bytes.
func (p *process) peakRSS(tb testing.TB) int64 {
	tb.Helper()
	proc, err := procfs.NewProc(p.Pid)
	must(tb, err)
	status, err := proc.NewStatus()
	must(tb, err)
	return int64(status.VmHWM)
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
