package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"piecebench/internal/contained"
	"piecebench/internal/testneeds"
)

const asAgent = "NETEM_AGENT_TEST"

// TestMain is also the agent that a test runs. It panics, where nothing can
// recover, when its standard input ends.
func TestMain(m *testing.M) {
	if os.Getenv(asAgent) == "" {
		os.Exit(contained.Run(m.Run))
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		if strings.Contains(strings.Join(os.Args, " "), "--device") {
			panic("a fault of the agent")
		}
	}()
	main()
	os.Exit(0)
}

func run(t *testing.T, argv ...string) string {
	t.Helper()
	text, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(argv, " "), err, text)
	}
	return string(text)
}

func TestAPanicRestoresTheDevice(t *testing.T) {
	testneeds.Root(t)
	testneeds.Program(t, "ip", "tc", "curl")
	ns := fmt.Sprintf("pbcrash-%d", os.Getpid())
	run(t, "ip", "netns", "add", ns)
	t.Cleanup(func() { run(t, "ip", "netns", "del", ns) })
	run(t, "ip", "-n", ns, "link", "set", "lo", "up")
	run(t, "ip", "-n", ns, "link", "add", "shaped0", "type", "veth", "peer", "name", "peer0")
	run(t, "ip", "-n", ns, "link", "set", "shaped0", "up")
	state := func() string {
		return run(t, "ip", "netns", "exec", ns, "sh", "-c", "tc qdisc; ip rule; ip -4 route show table all; ip link show shaped0 | grep alias || :; cat /proc/sys/net/ipv4/ip_early_demux")
	}
	before := state()

	agent := exec.Command("ip", "netns", "exec", ns, os.Args[0], "--device", "shaped0")
	agent.Env = append(os.Environ(), asAgent+"=1")
	stdin, err := agent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := agent.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = agent.Process.Kill() })
	var log strings.Builder
	lines := bufio.NewScanner(stderr)
	for lines.Scan() && !strings.Contains(lines.Text(), "API on") {
		fmt.Fprintln(&log, lines.Text())
	}
	run(t, "ip", "netns", "exec", ns, "curl", "-sSf", "-X", "PUT", "-d", `{"rate_bits":100000000,"delay_ms":5,"loss":0}`, "http://127.0.0.1:9100/link")
	if state() == before {
		t.Fatal("the agent changed nothing, or this test does not see it")
	}
	stdin.Close()
	for lines.Scan() { // until what restores has ended, too
		fmt.Fprintln(&log, lines.Text())
	}
	err = agent.Wait()
	if err == nil || !strings.Contains(log.String(), "a fault of the agent") {
		t.Fatalf("the agent did not panic: %v\n%s", err, &log)
	}
	var after string
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if after = state(); after == before {
			return
		}
	}
	t.Errorf("after a panic there is\n%s\nand before the agent there was\n%s\nits log:\n%s", after, before, &log)
}
