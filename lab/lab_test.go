package lab_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/gateway"
	"piecebench/internal/contained"
	"piecebench/internal/testneeds"
	"piecebench/lab"
	"piecebench/lab/labtest"
	"piecebench/servers"
)

func TestMain(m *testing.M) { os.Exit(contained.Run(m.Run)) }

func config(t *testing.T) lab.Config {
	testneeds.Root(t)
	return labtest.Config(t, labtest.Install(t, "piece-gateway", "netem-agent"))
}

func up(t *testing.T, l lab.Lab, cfg lab.Config) {
	t.Helper()
	if err := l.Up(cfg, io.Discard); err != nil {
		t.Fatal(err)
	}
}

// fetch gets a URL from where the lab's clients are.
func fetch(t *testing.T, l lab.Lab, url string) string {
	t.Helper()
	out, err := l.Command("curl", "-sS", "--fail", "--max-time", "10", "-o", "/dev/null", "-w", "%{http_code} %{size_download}", url).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", url, err, out)
	}
	return string(out)
}

func serverPIDs(t *testing.T, l lab.Lab) string {
	t.Helper()
	out, err := exec.Command("ip", "netns", "pids", l.ServerNamespace()).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// wantEnd waits for the end of a process. One that has ended is there until its
// parent has waited for it, which takes a moment on a busy machine.
func wantEnd(t *testing.T, pid string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat("/proc/" + pid); err != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("process %s is left", pid)
			return
		}
	}
}

func TestUpServesBothTargetsAndDownLeavesNothing(t *testing.T) {
	cfg := config(t)
	l := labtest.New(t, "a")
	up(t, l, cfg)
	for _, v := range l.Environment() {
		name, value, _ := strings.Cut(v, "=")
		if name != "LAB_TARGETS" {
			continue
		}
		flat, err := filepath.Glob(filepath.Join(cfg.Data, "flat", "*"))
		if err != nil || len(flat) != 2 {
			t.Fatal(flat, err)
		}
		for _, target := range strings.Split(value, ",") {
			_, url, _ := strings.Cut(target, "=")
			if strings.Contains(url, "{object}") {
				continue // the tests of the servers ask for objects
			}
			if got := fetch(t, l, strings.ReplaceAll(url, "{piece}", filepath.Base(flat[0]))); got != "200 8323072" {
				t.Errorf("%s: %s; want the 8323072 bytes of a piece", target, got)
			}
		}
	}
	before := serverPIDs(t, l)
	up(t, l, cfg)
	for _, pid := range strings.Fields(serverPIDs(t, l)) {
		if !strings.Contains(before, pid+"\n") {
			wantEnd(t, pid) // a short-lived command of the agent, not a second server
		}
	}
	other := cfg
	other.Store = "flat"
	if err := l.Up(other, io.Discard); err == nil || !strings.Contains(err.Error(), "another configuration") {
		t.Errorf("up with another configuration: %v", err)
	}
	if err := l.Down(); err != nil {
		t.Fatal(err)
	}
	if l.Exists() {
		t.Error("a namespace is left")
	}
	for _, pid := range strings.Fields(before) {
		wantEnd(t, pid)
	}
	if err := l.Down(); err != nil {
		t.Error("down of what is down:", err)
	}
}

func TestNothingOutsideChangesWhatTheServersDo(t *testing.T) {
	cfg := config(t)
	t.Setenv("GOMAXPROCS", "1")
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	l := labtest.New(t, "a")
	up(t, l, cfg)
	for _, pid := range strings.Fields(serverPIDs(t, l)) {
		environ, err := os.ReadFile(filepath.Join("/proc", pid, "environ"))
		if err == nil && (strings.Contains(string(environ), "GOMAXPROCS") || strings.Contains(string(environ), "HTTP_PROXY")) {
			t.Errorf("process %s has them in its environment: %q", pid, environ)
		}
	}
}

// A server that holds fewer would fail clients of a cell, and be charged with it.
func TestServersAreSetUpForAllClientsThatSettingsAllow(t *testing.T) {
	clients := func(target string) int {
		r, ok := servers.Of(target)
		if !ok {
			t.Fatal("no target", target)
		}
		return r.Clients
	}
	if most := gateway.DefaultConfig().MaxInFlight; most < clients("gateway") {
		t.Errorf("the gateway answers %d requests at a time", most)
	}
	conf, err := os.ReadFile("../servers/nginx/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	for name, least := range map[string]int{"worker_connections ": clients("raw") + 100, "worker_rlimit_nofile ": 2 * clients("raw"), "listen 8080 backlog=": clients("raw")} {
		_, rest, _ := strings.Cut(string(conf), name)
		var n int
		if _, err := fmt.Sscanf(rest, "%d", &n); err != nil || n < least {
			t.Errorf("nginx.conf: %s%d, %v; want at least %d", name, n, err, least)
		}
	}
}

func TestServersMayHaveAllDescriptorsThatThisProcessMay(t *testing.T) {
	cfg := config(t)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = 1024 // the usual soft limit
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	l := labtest.New(t, "files")
	up(t, l, cfg)
	for _, pid := range strings.Fields(serverPIDs(t, l)) {
		text, err := os.ReadFile("/proc/" + pid + "/limits")
		if err != nil {
			t.Fatal(err)
		}
		_, line, _ := strings.Cut(string(text), "Max open files")
		var soft uint64
		if _, err := fmt.Sscan(line, &soft); err != nil || soft < min(limit.Max, 2*20000) {
			name, _ := os.ReadFile("/proc/" + pid + "/comm")
			t.Errorf("%s may have %d descriptors, %v; this process may have %d", name, soft, err, limit.Max)
		}
	}
}

func TestTwoLabsCoexist(t *testing.T) {
	cfg := config(t)
	a, b := labtest.New(t, "a"), labtest.New(t, "b")
	up(t, a, cfg)
	up(t, b, cfg)
	if err := a.Down(); err != nil {
		t.Fatal(err)
	}
	if got := fetch(t, b, "http://198.18.1.2:7777/healthz"); !strings.HasPrefix(got, "200") {
		t.Errorf("lab b answers %s after lab a went down", got)
	}
}

// hostBacklog sets the host's packet backlog until the test's end, and returns what reads it.
func hostBacklog(t *testing.T, value string) (read func() string) {
	t.Helper()
	if labs, err := lab.All(); err != nil || len(labs) > 0 {
		t.Skipf("SKIPPED: other labs are up, which have raised it: %v, %v", labs, err)
	}
	const path = "/proc/sys/net/core/netdev_max_backlog"
	set := func(value string) {
		if err := os.WriteFile(path, []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	read = func() string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(data))
	}
	before := read()
	t.Cleanup(func() { set(before) })
	set(value)
	return read
}

func TestTheHostsPacketBacklogIsRaisedUntilTheLastLabIsDown(t *testing.T) {
	cfg := config(t)
	const before = "1000"
	packetBacklog := hostBacklog(t, before)
	a, b := labtest.New(t, "a"), labtest.New(t, "b")
	up(t, a, cfg)
	up(t, b, cfg)
	raised := packetBacklog()
	if err := a.Down(); err != nil {
		t.Fatal(err)
	}
	if with := packetBacklog(); with != raised || with == before {
		t.Errorf("it is %q with two labs and %q with one, and was %q before", raised, with, before)
	}
	if err := b.Down(); err != nil {
		t.Fatal(err)
	}
	if after := packetBacklog(); after != before {
		t.Errorf("it is %q after the last lab, and was %q before", after, before)
	}
}

// In a container /proc/sys has the settings of its own network only.
func TestALabComesUpWhereTheHostsSettingsAreNotSeen(t *testing.T) {
	cfg := config(t)
	l := labtest.New(t, "contained")
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			err = l.Up(cfg, t.Output())
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestAHighPacketBacklogOfTheHostStays(t *testing.T) {
	cfg := config(t)
	const high = "200000"
	packetBacklog := hostBacklog(t, high)
	l := labtest.New(t, "a")
	up(t, l, cfg)
	with := packetBacklog()
	if err := l.Down(); err != nil {
		t.Fatal(err)
	}
	if after := packetBacklog(); with != high || after != high {
		t.Errorf("it is %q with a lab and %q after it, want %q", with, after, high)
	}
}

func TestUpAfterACrashStartsAnew(t *testing.T) {
	cfg := config(t)
	l := labtest.New(t, "a")
	up(t, l, cfg)
	for _, pid := range strings.Fields(serverPIDs(t, l)) {
		var n int
		fmt.Sscan(pid, &n)
		if err := syscall.Kill(n, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			t.Fatal(err)
		}
		wantEnd(t, pid) // until then it may pass for a part that runs
	}
	up(t, l, cfg)
	if got := fetch(t, l, "http://198.18.1.2:7777/healthz"); !strings.HasPrefix(got, "200") {
		t.Errorf("after a crash and up: %s", got)
	}
}

func TestAPartThatDoesNotStartIsNamedAndNothingIsLeft(t *testing.T) {
	cfg := config(t)
	broken := filepath.Join(cfg.Bin, "piece-gateway")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho the sector is on fire >&2\nexit 2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	l := labtest.New(t, "a")
	err := l.Up(cfg, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "gateway did not start") || !strings.Contains(err.Error(), "the sector is on fire") {
		t.Errorf("error %v; want the gateway and the end of its log", err)
	}
	if l.Exists() {
		t.Error("a namespace is left")
	}
}

func TestMissingDatasetIsRefused(t *testing.T) {
	cfg := config(t)
	cfg.Data = t.TempDir()
	l := labtest.New(t, "a")
	if err := l.Up(cfg, io.Discard); err == nil || !strings.Contains(err.Error(), "piecebench dataset create") {
		t.Errorf("error %v", err)
	}
	if l.Exists() {
		t.Error("a namespace is left")
	}
}
