package netem

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/netem/link"
)

func TestEverySignalThatEndsTheAgentRestoresTheDevice(t *testing.T) {
	l := newLab(t)
	run(t, "ip", "netns", "exec", l.servers, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/conf/all/rp_filter; echo 1 > /proc/sys/net/ipv4/ip_early_demux")
	before := l.networkState()
	for _, signals := range [][]unix.Signal{
		{unix.SIGHUP}, {unix.SIGINT}, {unix.SIGQUIT}, {unix.SIGABRT}, {unix.SIGSEGV},
		{unix.SIGUSR1, unix.SIGUSR2, unix.SIGPIPE, unix.SIGALRM, unix.SIGXCPU, unix.SIGIO, unix.SIGPWR, unix.SIGTERM}, // the last one ends it
	} {
		a := l.start(Auto)
		a.set("100mbit/5ms")
		for _, signal := range signals {
			if err := a.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
		}
		a.stop(unix.SIGTERM)
		if after := l.networkState(); after != before {
			t.Errorf("%v leaves something behind:\n%s", signals, difference(before, after))
		}
	}
}

func TestALogThatNobodyReadsDoesNotEndTheAgent(t *testing.T) {
	l := newLab(t)
	before := l.networkState()
	cmd := exec.Command("ip", "netns", "exec", l.servers, agentBinary, "--device", "shaped0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var said strings.Builder
	for buffer := make([]byte, 4096); !strings.Contains(said.String(), "API on"); {
		n, err := stderr.Read(buffer)
		if err != nil {
			t.Fatalf("%v: %s", err, &said)
		}
		said.Write(buffer[:n])
	}
	stderr.Close()
	a := &testAgent{Client: l.client(controlAddr), lab: l}
	a.set("100mbit/5ms") // each command is a line to nobody
	if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the agent ends with %v", err)
	}
	if after := l.networkState(); after != before {
		t.Errorf("it leaves something behind:\n%s", difference(before, after))
	}
}

func TestWhatAKilledAgentLeftIsFoundOnWhicheverDevice(t *testing.T) {
	l := newLab(t)
	before := l.networkState()
	for name, restore := range map[string]func(){
		"the next agent, of another device": func() {
			a := l.start(Auto, "--device", "control0")
			a.stop(unix.SIGTERM)
		},
		"netem-agent --restore": func() { run(t, "ip", "netns", "exec", l.servers, agentBinary, "--restore") },
	} {
		a := l.start(Auto)
		a.set("100mbit/5ms")
		a.stop(unix.SIGKILL)
		if l.networkState() == before {
			t.Fatal("an agent that is killed leaves nothing, or this test does not see it")
		}
		l.inNamespace(l.servers, func() {
			if left, err := Left(); err != nil || len(left) != 1 || left[0] != "shaped0" || Running() {
				t.Errorf("left shaped: %v, an agent runs: %v (%v)", left, Running(), err)
			}
		})
		restore()
		if after := l.networkState(); after != before {
			t.Errorf("%s leaves something behind:\n%s", name, difference(before, after))
		}
	}
	run(t, "ip", "netns", "exec", l.servers, agentBinary, "--restore") // of nothing
	if after := l.networkState(); after != before {
		t.Errorf("--restore of nothing changes:\n%s", difference(before, after))
	}
}

func TestSomebodyElsesLinkIsNotTakenForALeftover(t *testing.T) {
	l := newLab(t)
	run(t, "tc", "-n", l.servers, "qdisc", "add", "dev", "shaped0", "root", "handle", "1:", "tbf", "rate", "1gbit", "burst", "128kb", "limit", "1mb")
	before := l.networkState()
	text, err := exec.Command("ip", "netns", "exec", l.servers, agentBinary, "--device", "shaped0").CombinedOutput()
	if err == nil || !strings.Contains(string(text), "did not make") {
		t.Errorf("the agent starts: %v %s", err, text)
	}
	run(t, "ip", "netns", "exec", l.servers, agentBinary, "--restore")
	if after := l.networkState(); after != before {
		t.Errorf("the agent changed it:\n%s", difference(before, after))
	}
}

// A request that waits while the agent ends must not set the link again after it.
func TestNoRequestSetsTheLinkOfAnAgentThatHasEnded(t *testing.T) {
	l := newLab(t)
	before := l.networkState()
	a := l.start(Auto)
	spec := link.Spec{RateBits: 1e8, Delay: 5 * time.Millisecond}
	stop := make(chan struct{})
	for range 4 {
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
					_, _ = a.SetLink(t.Context(), spec) // an error once the agent has ended
				}
			}
		}()
	}
	time.Sleep(100 * time.Millisecond) // of settings
	a.stop(unix.SIGTERM)
	close(stop)
	if after := l.networkState(); after != before {
		t.Errorf("it leaves something behind:\n%s", difference(before, after))
	}
}
