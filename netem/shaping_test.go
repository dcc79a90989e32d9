package netem

import (
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/host"
	"piecebench/netem/client"
	"piecebench/netem/link"
)

// TestLink runs what must hold of a link with each backend that this kernel has.
func TestLink(t *testing.T) {
	needRoot(t)
	tests := []struct {
		name string
		run  func(t *testing.T, backend string)
	}{
		{"IdleRTTIsTheDelay", idleRTTIsTheDelay},
		{"RateIsNeverAboveTheCap", rateIsNeverAboveTheCap},
		{"LinkChangesUnderTraffic", linkChangesUnderTraffic},
		{"KilledAgentNeverLetsTrafficFlowUnshaped", killedAgentNeverLetsTrafficFlowUnshaped},
		{"TerminatedAgentRestoresEverything", terminatedAgentRestoresEverything},
		{"LossIsWhatWasAskedFor", lossIsWhatWasAskedFor},
		{"SentBytesAreThoseOnTheWire", sentBytesAreThoseOnTheWire},
	}
	for _, backend := range []string{client.Kernel, client.Userspace} {
		t.Run(backend, func(t *testing.T) {
			if backend == client.Kernel && !hasNetem() {
				t.Skip("SKIPPED: this kernel has no sch_netem; TestKernelBackendInUML runs these tests in User-Mode Linux")
			}
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) { test.run(t, backend) })
			}
		})
	}
}

func hasNetem() bool {
	name := "pbnet-probe"
	if exec.Command("ip", "netns", "add", name).Run() != nil {
		return false
	}
	defer exec.Command("ip", "netns", "del", name).Run()
	return exec.Command("tc", "-n", name, "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms").Run() == nil
}

func idleRTTIsTheDelay(t *testing.T, backend string) {
	l := newLab(t)
	a := l.start(backend)
	for _, delay := range []time.Duration{40 * time.Millisecond, 5 * time.Millisecond, 0} {
		a.set(link.Spec{RateBits: 1e9, Delay: delay}.String())
		// Never early. Late is what the median is each time: a busy host only adds to it.
		const attempts = 10
		for attempt := 1; ; attempt++ {
			times := l.rtts(shapedAddr, 11)
			least, median := times[0], times[len(times)/2]
			if least >= delay && median <= delay+time.Millisecond {
				break
			}
			if least < delay || attempt == attempts {
				t.Errorf("with %v: RTT %v at least and %v in the middle, want %v to %v", delay, least, median, delay, delay+time.Millisecond)
				break
			}
		}
	}
}

func rateIsNeverAboveTheCap(t *testing.T, backend string) {
	l := newLab(t)
	a := l.start(backend)
	for _, flows := range []int{1, 16} {
		state := a.set("100mbit/10ms")
		ld := l.startLoad(flows)
		ld.rate(500 * time.Millisecond) // slow start
		got := l.wireRate(time.Second)
		ld.stop()
		if got > 1.02e8 {
			t.Errorf("%d flows get %.1f Mbit/s through 100 Mbit/s", flows, got/1e6)
		}
		if got < 0.5e8 {
			t.Errorf("%d flows get only %.1f Mbit/s of 100", flows, got/1e6)
		}
		if state.RateBits != 1e8 || state.LimitBytes == 0 || state.BurstBytes == 0 {
			t.Errorf("the agent reports %+v", state)
		}
	}
}

func linkChangesUnderTraffic(t *testing.T, backend string) {
	l := newLab(t)
	a := l.start(backend)
	a.set("50mbit/20ms")
	ld := l.startLoad(8)
	ld.rate(500 * time.Millisecond)
	const most = 100e6 // of the links below
	before, start, _ := l.receivedBytes()
	for range 2 {
		for _, notation := range []string{"100mbit/5ms", "80mbit/0ms", "50mbit/20ms", "60mbit/40ms"} {
			a.set(notation)
			time.Sleep(20 * time.Millisecond)
		}
	}
	after, _, end := l.receivedBytes()
	if got := float64(after-before) * 8 / end.Sub(start).Seconds(); got > 1.02*most {
		t.Errorf("while the link changed, %.1f Mbit/s passed; none of the links had more than %.1f", got/1e6, most/1e6)
	}
	a.set("100mbit/5ms")
	if got := ld.rate(time.Second); got < 0.5*most {
		t.Errorf("after the changes %.1f Mbit/s pass, want about %.1f: the link is stuck", got/1e6, most/1e6)
	}
	ld.stop()
	if median := l.rtts(shapedAddr, 11)[5]; median < 5*time.Millisecond || median > 6*time.Millisecond {
		t.Errorf("after the changes the RTT is %v, want 5ms", median)
	}
}

func killedAgentNeverLetsTrafficFlowUnshaped(t *testing.T, backend string) {
	l := newLab(t)
	clean := l.networkState()
	a := l.start(backend)
	a.set("100mbit/20ms/0.01%")
	// nginx and the gateway live on when the agent is killed, as this one does.
	l.serveBlobs("198.18.0.2:9101")
	ld := l.startLoadFrom("198.18.0.2:9101", 4)
	ld.rate(500 * time.Millisecond)
	a.stop(unix.SIGKILL)
	ld.rate(100 * time.Millisecond) // what was on its way
	if got := l.wireRate(time.Second); got > 1.02*100e6 {
		t.Errorf("after kill -9, %.1f Mbit/s pass the 100 Mbit/s link", got/1e6)
	} else if backend == client.Userspace && got > 1e6 {
		t.Errorf("after kill -9 there is no delay line, and %.1f Mbit/s still pass", got/1e6)
	}
	ld.stop()
	if start := time.Now(); backend == client.Userspace {
		if conn, err := l.dial("198.18.0.2:9101", time.Second); err == nil {
			conn.Close()
			t.Errorf("after kill -9 a connection opens, in %v", time.Since(start))
		}
	} else if times := l.rtts("198.18.0.2:9101", 3); times[0] < 20*time.Millisecond {
		t.Errorf("after kill -9 the RTT is %v, want 20ms", times[0])
	}

	// The next agent finds its way, and leaves nothing of either.
	a = l.start(backend)
	a.set("100mbit/5ms")
	if got := l.rtts(shapedAddr, 5)[0]; got < 5*time.Millisecond || got > 15*time.Millisecond {
		t.Errorf("with the next agent the RTT is %v, want 5ms", got)
	}
	a.stop(unix.SIGTERM)
	if after := l.networkState(); after != clean {
		t.Errorf("the agents leave something behind:\n%s", difference(clean, after))
	}
}

func terminatedAgentRestoresEverything(t *testing.T, backend string) {
	for _, signal := range []unix.Signal{unix.SIGTERM, unix.SIGINT} {
		l := newLab(t)
		run(t, "ip", "-n", l.servers, "link", "set", "dev", "shaped0", "alias", "mine")
		run(t, "ip", "netns", "exec", l.servers, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/conf/all/rp_filter")
		before := l.networkState()
		a := l.start(backend)
		a.set("100mbit/5ms/1%")
		ld := l.startLoad(4)
		ld.rate(100 * time.Millisecond)
		if l.networkState() == before {
			t.Fatal("the agent changed nothing, or this test does not see it")
		}
		a.stop(signal)
		ld.stop()
		if after := l.networkState(); after != before {
			t.Errorf("%v leaves something behind:\n%s", signal, difference(before, after))
		}
	}
}

func lossIsWhatWasAskedFor(t *testing.T, backend string) {
	l := newLab(t)
	if _, err := exec.LookPath("nft"); err != nil && backend == client.Userspace {
		t.Skip("SKIPPED: no nft command (install nftables)")
	}
	a := l.start(backend)
	const loss, sent = 0.05, 20_000
	a.set("10gbit/1ms/5%")
	received := l.sendDatagrams(sent)
	// Six standard deviations of a binomial distribution.
	got, margin := 1-float64(received)/sent, 6*0.22/141
	if got < loss-margin || got > loss+margin {
		t.Errorf("%.2f %% of %d packets are lost, want %.0f +- %.2f", got*100, sent, loss*100, margin*100)
	}
	a.set("10gbit/1ms")
	if received := l.sendDatagrams(1000); received != 1000 {
		t.Errorf("without loss, %d of 1000 packets arrive", received)
	}
}

// TestKernelCapacity checks that the kernel backend is no slower than its rate,
// with few flows and with many: a queue that is too short shows with many only.
func TestKernelCapacity(t *testing.T) {
	needRoot(t)
	if !hasNetem() {
		t.Skip("SKIPPED: this kernel has no sch_netem; TestKernelCapacityInUML runs this test in User-Mode Linux")
	}
	l := newLab(t)
	a := l.start(client.Kernel)
	a.set("1gbit/40ms")
	const want = 1e9 * link.FullSizedShare
	for _, flows := range []int{1, 8, 128} {
		ld := l.startLoad(flows)
		var got, busy float64
		for second := 0; second < 10 && got < 0.98*want; second++ { // slow start takes a while
			start, before, cpu := time.Now(), ld.bytes.Load(), host.ReadCPU()
			wire := l.wireRate(time.Second)
			busy = max(busy, host.ReadCPU().BusySince(cpu))
			if wire > 1.02e9 {
				t.Errorf("with %d flows, %.0f Mbit/s pass the 1 Gbit/s link", flows, wire/1e6)
			}
			read := float64(ld.bytes.Load()-before) * 8 / time.Since(start).Seconds()
			// What waited in the sockets is read later, and can be more than the link's
			// rate. The device counts a GSO packet's headers once, so that it counts
			// hardly more than the payload.
			got = max(got, min(read, wire))
		}
		ld.stop()
		t.Logf("%d flows: %.0f Mbit/s, CPUs %.0f %% busy", flows, got/1e6, 100*busy)
		least := 0.98 * want
		if busy > 0.9 { // the CPUs decide; a queue that is too short left 0.45 with 128 flows
			least = 0.7 * want
		}
		if got < least {
			t.Errorf("%d flows get %.0f Mbit/s, want %.0f", flows, got/1e6, least/1e6)
		}
	}
}
