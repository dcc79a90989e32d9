package netem

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/netem/client"
)

func TestBadSettingsChangeNothing(t *testing.T) {
	l := newLab(t)
	a := l.start(Auto)
	before := a.set("100mbit/5ms")
	for body, want := range map[string]string{
		``:                                   "not a link setting",
		`{}`:                                 "not complete",
		`{"rate_bits":1000000}`:              "not complete",
		`{"rate_bits":1000000,"delay_ms":1}`: "not complete",
		`{"rate_bits":"fast","delay_ms":1,"loss":0}`:           "not a link setting",
		`{"rate_bits":1.5,"delay_ms":1,"loss":0}`:              "not a link setting",
		`{"rate_bits":1000000,"delay_ms":1,"loss":0,"jit":1}`:  "unknown field",
		`{"rate_bits":-1,"delay_ms":1,"loss":0}`:               "not one that tc can shape",
		`{"rate_bits":1000,"delay_ms":1,"loss":0}`:             "not one that tc can shape",
		`{"rate_bits":900000000000000,"delay_ms":1,"loss":0}`:  "not one that tc can shape",
		`{"rate_bits":100000000000,"delay_ms":9999,"loss":0}`:  "needs a queue",
		`{"rate_bits":1000000,"delay_ms":-1,"loss":0}`:         "out of range",
		`{"rate_bits":1000000,"delay_ms":10001,"loss":0}`:      "out of range",
		`{"rate_bits":1000000,"delay_ms":1e300,"loss":0}`:      "out of range",
		`{"rate_bits":1000000,"delay_ms":1,"loss":1.1}`:        "not a probability",
		`{"rate_bits":1000000,"delay_ms":1,"loss":-0.1}`:       "not a probability",
		`{"rate_bits":null,"delay_ms":1,"loss":0}`:             "not complete",
		`{"rate_bits":1000000,"delay_ms":1,"loss":0} trailing`: "not a link setting",
	} {
		req, _ := http.NewRequest(http.MethodPut, "http://"+controlAddr+"/link", strings.NewReader(body))
		res, err := a.HTTP.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != 400 || !strings.Contains(string(text), want) || strings.Count(string(text), "\n") != 1 {
			t.Errorf("PUT %s: %s: %q, want 400 and one line that says %q", body, res.Status, text, want)
		}
	}
	after, err := a.Link(context.Background())
	if err != nil || after.Setting != before.Setting || after.LimitBytes != before.LimitBytes {
		t.Errorf("the bad settings changed the link: %+v, %v, want %+v", after.Setting, err, before.Setting)
	}
}

func TestBlobIsAsLongAsAskedFor(t *testing.T) {
	l := newLab(t)
	a := l.start(Auto)
	for _, n := range []int64{1, 1000, blobChunk, blobChunk + 1, 3*blobChunk - 1} {
		res, err := a.HTTP.Get("http://" + controlAddr + client.BlobPath(n))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err != nil || got != n || res.ContentLength != n {
			t.Errorf("asked for %d bytes: got %d, Content-Length %d, %v", n, got, res.ContentLength, err)
		}
	}
	for _, bad := range []string{"", "0", "-1", "x", "1099511627777"} {
		res, err := a.HTTP.Get("http://" + controlAddr + "/blob?bytes=" + bad)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 400 {
			t.Errorf("bytes=%q: %s, want 400", bad, res.Status)
		}
	}
}

func TestTwoAgentsInTwoNamespaces(t *testing.T) {
	one, other := newLab(t), newLab(t)
	a, b := one.start(Auto), other.start(Auto)
	a.set("1gbit/20ms")
	b.set("500mbit/5ms")
	if got := one.rtts(shapedAddr, 5)[0]; got < 20*time.Millisecond || got > 30*time.Millisecond {
		t.Errorf("the first link has the RTT %v, want 20ms", got)
	}
	if got := other.rtts(shapedAddr, 5)[0]; got < 5*time.Millisecond || got > 15*time.Millisecond {
		t.Errorf("the second link has the RTT %v, want 5ms", got)
	}
}

func TestStartRefuses(t *testing.T) {
	l := newLab(t)
	start := func(args ...string) (string, int) {
		cmd := exec.Command("ip", append([]string{"netns", "exec", l.servers, agentBinary}, args...)...)
		text, _ := cmd.CombinedOutput()
		return string(text), cmd.ProcessState.ExitCode()
	}
	refuses := func(want string, args ...string) {
		t.Helper()
		text, code := start(args...)
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if last := lines[len(lines)-1]; code != 2 || !strings.Contains(last, want) {
			t.Errorf("%v: exit code %d and %q, want 2 and %q", args, code, last, want)
		}
	}
	before := l.networkState()
	refuses(`required flag(s) "device"`)
	refuses("name one of this network namespace", "--device", "nosuch0")
	refuses("is not known: use auto, kernel or userspace", "--device", "shaped0", "--backend", "magic")
	refuses("port 0 is not a TCP port", "--device", "shaped0", "--ports", "0")
	if !hasNetem() {
		refuses("modprobe sch_netem", "--device", "shaped0", "--backend", "kernel")
	}
	if after := l.networkState(); after != before {
		t.Errorf("a start that failed leaves something behind:\n%s", difference(before, after))
	}
	run(t, "tc", "-n", l.servers, "qdisc", "add", "dev", "shaped0", "root", "handle", "7:", "htb")
	refuses("did not make", "--device", "shaped0")
	run(t, "tc", "-n", l.servers, "qdisc", "del", "dev", "shaped0", "root")

	l.start(Auto)
	refuses("address already in use", "--device", "shaped0")
	refuses("another netem-agent", "--device", "shaped0", "--listen", ":9109")
}

func TestProcsFindsTheServersOfThePorts(t *testing.T) {
	l := newLab(t)
	a := l.start(Auto, "--ports", "9100,9101,9102")
	l.listen(":9101")
	procs, err := a.Procs(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(procs.Procs) != 3 {
		t.Fatalf("asked for 3 ports, got %+v", procs.Procs)
	}
	for i, want := range []struct {
		pid     int
		problem string
	}{{a.cmd.Process.Pid, ""}, {unix.Getpid(), ""}, {0, "nothing listens"}} {
		got := procs.Procs[i]
		if want.pid != 0 && (!slices.Equal(got.PIDs, []int{want.pid}) || got.RSSBytes < 1<<20) || !strings.HasPrefix(got.Problem, want.problem) {
			t.Errorf("port %d: %+v, want process %d %s", got.Port, got, want.pid, want.problem)
		}
	}
	if procs.Host.CPUs < 1 || procs.Host.Busy <= 0 || procs.Agent.RSSBytes < 1<<20 {
		t.Errorf("host and agent: %+v %+v", procs.Host, procs.Agent)
	}
}

func TestMetrics(t *testing.T) {
	l := newLab(t)
	a := l.start(Auto)
	a.set("100mbit/5ms")
	l.rtts(shapedAddr, 1)
	res, err := a.HTTP.Get("http://" + controlAddr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	for _, want := range []string{"netem_link_rate_bits{", "} 1e+08", "netem_link_delay_seconds{", "} 0.005", "netem_sent_bytes_total ", "netem_host_cpu_busy_seconds_total "} {
		if !strings.Contains(string(text), want) {
			t.Errorf("/metrics has no %s:\n%s", want, text)
		}
	}
	if res, err = a.HTTP.Get("http://" + controlAddr + "/healthz"); err != nil || res.StatusCode != 200 {
		t.Errorf("/healthz: %v, %v", res, err)
	}
}

// difference shows the lines that only one of two texts has.
func difference(before, after string) string {
	var text strings.Builder
	only := func(sign, a, b string) {
		for line := range strings.Lines(a) {
			if !strings.Contains(b, line) {
				fmt.Fprint(&text, sign, line)
			}
		}
	}
	only("- ", before, after)
	only("+ ", after, before)
	return text.String()
}
