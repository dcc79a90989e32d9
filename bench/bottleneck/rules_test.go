package bottleneck_test

import (
	"strings"
	"testing"

	"piecebench/bench/bottleneck"
	"piecebench/bench/result"
	"piecebench/records"
)

// slow is a cell that gets a tenth of its link, on a machine of which nobody
// needs much: TCP waits for the server to write.
func slow() result.Cell {
	return result.Cell{
		Target: "gateway", Link: "1gbit/40ms", Mode: "1MiB", Concurrency: 10, WindowS: 10,
		WindowBytes: 125_000_000, CeilingBits: 1e9, HostCPU: 0.2,
		TTFB:     result.Quantiles{P50: &result.Quantile{Ms: 50}},
		Duration: result.Quantiles{P50: &result.Quantile{Ms: 900}},
		Evidence: &result.Evidence{
			HostCPUs: 4, GeneratorBits: 20e9, RTTMs: 40, FloorMs: 321,
			Server: &result.CPUUse{CPUs: 0.1, Allowed: 4, BusiestThread: 0.05}, Generator: &result.CPUUse{CPUs: 0.1, Allowed: 4},
			Emulator: &result.Emulator{}, TCP: &result.TCP{Connections: 10, Waiting: 0.02, Busy: 100},
		},
	}
}

func TestBottlenecks(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*result.Cell, *result.Evidence)
		by      string
		because string // a part of it
	}{
		{"the server writes slowly", func(*result.Cell, *result.Evidence) {}, bottleneck.Server, "98 % of the connections TCP waited for the server to write; it used 0.10 of 4 CPUs"},
		{"the link is full", func(c *result.Cell, _ *result.Evidence) { c.WindowBytes = 1_200_000_000 }, bottleneck.Link, "96 % of the link’s ceiling"},
		{"a link that only the machine makes slow is full, and its CPUs are", func(c *result.Cell, _ *result.Evidence) {
			c.WindowBytes, c.CeilingBits, c.HostLimited, c.HostCPU = 1_000_000_000, 820e6, true, 0.97
		}, bottleneck.Host, "of 4: server 0.10, k6 0.10, kernel and others 3.68"},
		{"a link that was host-limited while it was calibrated is full by its rate", func(c *result.Cell, _ *result.Evidence) {
			c.WindowBytes, c.HostLimited = 1_190_000_000, true // 952 of 956 Mbit/s
		}, bottleneck.Link, "95 % of the link’s ceiling"},
		{"the server is at its quota", func(_ *result.Cell, e *result.Evidence) { *e.Server = result.CPUUse{CPUs: 0.48, Allowed: 0.5} }, bottleneck.ServerCPU, "0.48 of the 0.5 CPUs"},
		{"the server waits for its quota", func(_ *result.Cell, e *result.Evidence) {
			*e.Server = result.CPUUse{CPUs: 0.4, Allowed: 0.5, Throttled: 0.7}
		}, bottleneck.ServerCPU, "stopped in 70 % of the periods of its quota, 0.5 CPUs, of which it used 0.40"},
		{"k6 waits for its quota", func(_ *result.Cell, e *result.Evidence) {
			*e.Generator = result.CPUUse{CPUs: 0.17, Allowed: 0.2, Throttled: 0.6}
		}, bottleneck.Generator, "k6 was stopped in 60 %"},
		{"the server has one thread that does all", func(_ *result.Cell, e *result.Evidence) { e.Server.CPUs, e.Server.BusiestThread = 1, 0.98 }, bottleneck.ServerCPU, "one thread of the server was busy 98 %"},
		{"the server fills the machine", func(c *result.Cell, e *result.Evidence) { c.HostCPU, e.Server.CPUs = 0.99, 3.1 }, bottleneck.ServerCPU, "the server used 3.10 of 4 CPUs, which were 99 % busy"},
		{"k6 is at its quota", func(_ *result.Cell, e *result.Evidence) { *e.Generator = result.CPUUse{CPUs: 0.25, Allowed: 0.25} }, bottleneck.Generator, "k6 used 0.25 of the 0.25"},
		{"k6 fills the machine", func(c *result.Cell, e *result.Evidence) { c.HostCPU, e.Generator.CPUs = 0.95, 2.8 }, bottleneck.Generator, "k6 used 2.80 of 4"},
		{"all together fill the machine", func(c *result.Cell, e *result.Evidence) { c.HostCPU, e.Server.CPUs, e.Generator.CPUs = 0.95, 1.5, 1.5 }, bottleneck.Host, "95 %"},
		{"clients work most of the time", func(c *result.Cell, _ *result.Evidence) {
			c.Jobs = &result.Jobs{Stages: []result.Stage{{Name: "download", Share: 0.3}, {Name: "verify", Share: 0.6}, {Name: "store", Share: 0.2}}, Overlap: 0.1}
		}, bottleneck.ClientWork, "in 70 % of the time of their jobs the clients had no request running (verify 60 %, store 20 %)"},
		{"clients wait for the server most of the time", func(c *result.Cell, _ *result.Evidence) {
			c.Jobs = &result.Jobs{Stages: []result.Stage{{Name: "download", Share: 0.9}, {Name: "verify", Share: 0.6}}, Overlap: 0.5}
		}, bottleneck.Server, "on 98 % of the connections, while a request was running, TCP waited for the server to write"},
		{"connections idle while clients work, and send all the time else", func(c *result.Cell, e *result.Evidence) {
			c.Jobs = &result.Jobs{Stages: []result.Stage{{Name: "download", Share: 0.55}, {Name: "verify", Share: 0.45}}}
			e.TCP.Waiting = 0.15 // 85 % idle, of which 45 % with no request
		}, "", ""},
		{"clients work most of the time and fill the machine", func(c *result.Cell, e *result.Evidence) {
			c.Jobs = &result.Jobs{Stages: []result.Stage{{Name: "verify", Share: 1}}}
			c.HostCPU, e.Generator.CPUs = 0.95, 2.8
		}, bottleneck.Generator, "k6 used 2.80 of 4"},
		{"k6 cannot receive more", func(_ *result.Cell, e *result.Evidence) { e.GeneratorBits = 102e6 }, bottleneck.Generator, "98 % of the generator’s ceiling"},
		{"the delay line is late", func(_ *result.Cell, e *result.Evidence) { e.Emulator.Late = 0.6 }, bottleneck.Emulator, "60 % of the delay line’s packets late"},
		{"a full machine whose delay line starves connections", func(c *result.Cell, e *result.Evidence) {
			c.HostCPU, e.Emulator.Held, e.TCP.Stalled, e.TCP.OldestUnackedMs = 0.99, 3, 2, 52e3
		}, bottleneck.Emulator, "held 3 packets for more than 262 ms and lost 0 %; 2 connections made no progress, the longest for 52.0 s"},
		{"requests fail on a delay line that stood", func(c *result.Cell, e *result.Evidence) {
			c.Failed, e.Emulator.Held, e.TCP = map[records.Outcome]int{"short": 13}, 3, nil
		}, bottleneck.Emulator, "held 3 packets"},
		{"requests fail on a delay line that loses", func(c *result.Cell, e *result.Evidence) {
			c.HostCPU, c.Failed, e.Emulator.Lost = 0.99, map[records.Outcome]int{"short": 13}, 0.06
		}, bottleneck.Emulator, "lost 6 %"},
		{"a delay line that stood for a moment, and did no harm", func(c *result.Cell, e *result.Evidence) {
			c.HostCPU, e.Emulator.Held = 0.99, 3
		}, bottleneck.Host, "99 %"},
		{"connections that stall on a delay line that works", func(c *result.Cell, e *result.Evidence) {
			c.HostCPU, c.Failed, e.TCP.Stalled = 0.99, map[records.Outcome]int{"short": 13}, 5
		}, bottleneck.Host, "99 %"},
		{"the delay line loses", func(_ *result.Cell, e *result.Evidence) { e.Emulator.Lost = 0.1 }, bottleneck.Emulator, "10 % lost"},
		{"a late delay line on a full machine", func(c *result.Cell, e *result.Evidence) { e.Emulator.Late, c.HostCPU = 0.6, 0.99 }, bottleneck.Host, "99 %"},
		{"the link's queue drops", func(_ *result.Cell, e *result.Evidence) { e.Emulator.Dropped = 0.08 }, bottleneck.Emulator, "8 % of the packets dropped"},
		{"the link loses as it was asked to", func(c *result.Cell, e *result.Evidence) {
			c.Link, e.Emulator.Dropped, e.TCP.Waiting, e.TCP.Retransmitted = "1gbit/40ms/8%", 0.08, 0.9, 0.081
		}, bottleneck.Latency, "8 % of the bytes sent again"},
		{"k6 does not read", func(_ *result.Cell, e *result.Evidence) { e.TCP.ReceiverLimited, e.TCP.Waiting = 0.8, 1 }, bottleneck.Generator, "window was full for 80 %"},
		{"the server's send buffer is small", func(_ *result.Cell, e *result.Evidence) { e.TCP.BufferLimited = 0.7 }, bottleneck.Server, "send buffer was full for 70 %"},
		{"the server thinks", func(c *result.Cell, _ *result.Evidence) { c.TTFB.P50.Ms = 700 }, bottleneck.Server, "waited 660 ms for its first byte"},
		{"no first byte within the window", func(c *result.Cell, _ *result.Evidence) {
			c.TTFB.P50, c.Duration.P50 = &result.Quantile{Ms: 9000, Bound: true}, &result.Quantile{Ms: 9000, Bound: true}
		}, bottleneck.Server, "first byte"},
		{"a round trip more is the link's queue", func(c *result.Cell, e *result.Evidence) {
			c.TTFB.P50.Ms, c.Duration.P50.Ms, e.TCP.RTTMs = 79, 100, 79
		}, bottleneck.Latency, "took 100 ms; the round trip is 40.0 ms, the slow-start floor 321 ms"},
		{"one client of small ranges", func(c *result.Cell, _ *result.Evidence) { c.Concurrency, c.Duration.P50.Ms = 1, 75 }, bottleneck.Latency, "75.0 ms"},
		{"the server writes slowly, within twice the floor", func(c *result.Cell, e *result.Evidence) {
			c.Duration.P50.Ms, e.FloorMs, e.OpenMs, e.TCP.RTTMs = 150, 120, 50, 41
		}, bottleneck.Server, "TCP waited for the server to write; it used 0.10 of 4 CPUs; the median request took 150 ms, of which round trip and link explain 50.0 ms"},
		{"TCP takes as many round trips as on a new connection", func(c *result.Cell, e *result.Evidence) {
			c.Duration.P50.Ms, e.FloorMs, e.OpenMs, e.TCP.RTTMs, e.TCP.Waiting = 150, 120, 50, 41, 0.6
		}, bottleneck.Latency, "the slow-start floor 120 ms"},
		{"what TCP has sent waits in the link's queue", func(c *result.Cell, e *result.Evidence) {
			c.Duration.P50.Ms, e.FloorMs, e.OpenMs, e.TCP.RTTMs = 150, 120, 50, 75
		}, bottleneck.Latency, "the slow-start floor 120 ms"},
		{"a request that the link makes long", func(c *result.Cell, e *result.Evidence) {
			c.Duration.P50.Ms, e.FloorMs, e.OpenMs, e.TCP.RTTMs = 150, 160, 81, 41
		}, bottleneck.Latency, "the slow-start floor 160 ms"},
		{"the link's queue stands", func(_ *result.Cell, e *result.Evidence) { e.TCP.Waiting, e.TCP.RTTMs = 0.9, 78 }, bottleneck.Link, "the round trip was 78.0 ms, idle 40.0 ms (10 % of the link’s ceiling)"},
		{"TCP's window grows slowly", func(_ *result.Cell, e *result.Evidence) { e.TCP.Waiting = 0.9 }, bottleneck.Latency, "held back data on 90 %"},
		{"neither TCP nor the server most of the time", func(_ *result.Cell, e *result.Evidence) { e.TCP.Waiting = 0.35 }, "", ""},
		{"somebody's own server, slow to answer", func(c *result.Cell, e *result.Evidence) {
			c.Link, c.CeilingBits, c.TTFB.P50.Ms = "none", 0, 700
			*e = result.Evidence{HostCPUs: 4, RTTMs: 12, Generator: e.Generator}
		}, bottleneck.Server, "waited 688 ms"},
		{"somebody's own server, slow to send", func(c *result.Cell, e *result.Evidence) {
			c.Link, c.CeilingBits = "none", 0
			*e = result.Evidence{HostCPUs: 4, RTTMs: 12, Generator: e.Generator}
		}, "", ""},
		{"a loopback has no round trip to wait for", func(_ *result.Cell, e *result.Evidence) { e.RTTMs, e.FloorMs = 0.05, 0.3 }, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cell := slow()
			c.change(&cell, cell.Evidence)
			by, because := bottleneck.Of(cell)
			if by != c.by || !strings.Contains(because, c.because) {
				t.Errorf("%q because %q; want %q because %q", by, because, c.by, c.because)
			}
		})
	}
}

// Runs of before had the host's CPU and the link's ceiling only.
func TestACellWithoutEvidence(t *testing.T) {
	cell := slow()
	cell.Evidence = nil
	if by, because := bottleneck.Of(cell); by != "" {
		t.Errorf("%s, %s without evidence", by, because)
	}
	cell.HostCPU = 1
	if by, because := bottleneck.Of(cell); by != bottleneck.Host || because != "all CPUs 100 % busy" {
		t.Errorf("%s, %s", by, because)
	}
}
