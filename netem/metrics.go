package netem

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"piecebench/netem/delayline"
)

// collector reads the link and the servers' processes at each scrape.
type collector struct {
	agent *Agent
	procs *procReader
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("netem_"+name, help, labels, nil)
}

var (
	descRate     = desc("link_rate_bits", "Rate cap of the servers' egress in bits per second, 0 for none.", "backend", "device")
	descDelay    = desc("link_delay_seconds", "Delay that is added to the RTT.", "backend", "device")
	descLoss     = desc("link_loss_ratio", "Probability that a packet from the servers is lost.", "backend", "device")
	descBytes    = desc("sent_bytes_total", "Bytes that left through the link, with the headers of each packet on the wire.")
	descPackets  = desc("sent_packets_total", "Packets that left through the link, as on the wire.")
	descDrops    = desc("dropped_packets_total", "Packets dropped by a full queue, and by loss in the kernel backend.")
	descLost     = desc("lost_packets_total", "Packets lost because the link has a loss.")
	descSegments = desc("tcp_segments_total", "TCP segments that the servers sent, those sent again included.")
	descResent   = desc("tcp_retransmitted_segments_total", "TCP segments that the servers sent again.")
	descBacklog  = desc("backlog_bytes", "Bytes waiting in the link's queue; in the kernel backend including those in flight.")
	descQueued   = desc("line_queued_packets", "Packets held in the user-space delay line.")
	descLine     = desc("line_packets_total", "Packets that passed the user-space delay line since the link was set.")
	descLineDrop = desc("line_dropped_packets_total", "Packets that were lost in the user-space delay line, or in a full queue beside it.")
	descLineShed = desc("line_shed_packets_total", "Late acknowledgements that the user-space delay line dropped because a later one repeated them.")
	descLateness = desc("line_lateness_seconds", "How late packets left the user-space delay line.")
	descCPU      = desc("server_cpu_seconds_total", "CPU time of the processes that listen on a port.", "port", "command")
	descMemory   = desc("server_memory_bytes", "Memory of the processes that listen on a port, shared pages once.", "port", "command")
	descBusy     = desc("host_cpu_busy_seconds_total", "CPU time of the whole host that was not idle.")
	descCPUs     = desc("host_cpus", "CPUs of the host.")
	descAgentCPU = desc("agent_cpu_seconds_total", "CPU time of the agent: the cost of the emulation outside of the kernel.")
)

// Upper bounds of the lateness buckets in microseconds: powers of two, at which
// Histogram.Below is exact.
var latenessBounds = []int64{64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536, 262144}

// Describe sends nothing, which makes the collector unchecked: its metrics depend on
// the backend.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	c.collectLink(out)
	c.collectProcs(out)
}

func (c *collector) collectLink(out chan<- prometheus.Metric) {
	s, err := c.agent.State()
	if err != nil {
		out <- prometheus.NewInvalidMetric(descRate, err)
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v int64) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v))
	}
	gauge(descRate, float64(s.RateBits), s.Backend, s.Device)
	gauge(descDelay, s.DelayMs/1000, s.Backend, s.Device)
	gauge(descLoss, s.Loss, s.Backend, s.Device)
	counter(descBytes, s.Stats.SentBytes)
	counter(descPackets, s.Stats.SentPackets)
	counter(descDrops, s.Stats.Drops)
	counter(descLost, s.Stats.LossDrops)
	counter(descSegments, s.Stats.TCPSegments)
	counter(descResent, s.Stats.TCPRetransmitted)
	gauge(descBacklog, float64(s.Stats.BacklogBytes))
	if line := s.Stats.DelayLine; line != nil {
		counter(descLine, line.Packets)
		counter(descLineDrop, line.Dropped)
		counter(descLineShed, line.Shed)
		gauge(descQueued, float64(line.Queued))
	}
	if h, ok := c.agent.lateness(); ok {
		out <- latenessMetric(h)
	}
}

func latenessMetric(h delayline.Histogram) prometheus.Metric {
	below := map[float64]uint64{}
	for _, us := range latenessBounds {
		below[float64(us)/1e6] = uint64(h.Below(us - 1))
	}
	return prometheus.MustNewConstHistogram(descLateness, uint64(h.Count), float64(h.SumUs)/1e6, below)
}

func (c *collector) collectProcs(out chan<- prometheus.Metric) {
	procs, err := c.procs.read()
	if err != nil {
		out <- prometheus.NewInvalidMetric(descCPU, err)
		return
	}
	for _, p := range procs.Procs {
		port := strconv.Itoa(p.Port)
		out <- prometheus.MustNewConstMetric(descCPU, prometheus.CounterValue, p.CPUSeconds, port, p.Command)
		out <- prometheus.MustNewConstMetric(descMemory, prometheus.GaugeValue, float64(p.RSSBytes), port, p.Command)
	}
	out <- prometheus.MustNewConstMetric(descBusy, prometheus.CounterValue, procs.Host.Busy)
	out <- prometheus.MustNewConstMetric(descCPUs, prometheus.GaugeValue, float64(procs.Host.CPUs))
	out <- prometheus.MustNewConstMetric(descAgentCPU, prometheus.CounterValue, procs.Agent.CPUSeconds)
}
