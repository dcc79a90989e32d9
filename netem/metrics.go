package netem

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// collector reads the link and the servers' processes at each scrape.
type collector struct {
	agent *Agent
	procs *procReader
}

// Upper bounds of the lateness buckets in microseconds: powers of two, at which
// Histogram.Below is exact.
var latenessBounds = []int64{64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536, 262144}

// Describe sends nothing, which makes the collector unchecked: its metrics depend on
// the backend.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	c.collectLink(scrape(out))
	c.collectProcs(scrape(out))
}

// scrape takes the metrics of one scrape.
type scrape chan<- prometheus.Metric

func desc(name, help string, labels prometheus.Labels) *prometheus.Desc {
	return prometheus.NewDesc("netem_"+name, help, nil, labels)
}

func (s scrape) gauge(name, help string, v float64, labels prometheus.Labels) {
	s <- prometheus.MustNewConstMetric(desc(name, help, labels), prometheus.GaugeValue, v)
}

func (s scrape) counter(name, help string, v float64, labels prometheus.Labels) {
	s <- prometheus.MustNewConstMetric(desc(name, help, labels), prometheus.CounterValue, v)
}

func (s scrape) failed(err error) {
	s <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
}

func (c *collector) collectLink(out scrape) {
	s, err := c.agent.State()
	if err != nil {
		out.failed(err)
		return
	}
	link := prometheus.Labels{"backend": s.Backend, "device": s.Device}
	out.gauge("link_rate_bits", "Rate cap of the servers' egress in bits per second, 0 for none.", float64(s.RateBits), link)
	out.gauge("link_delay_seconds", "Delay that is added to the RTT.", s.DelayMs/1000, link)
	out.gauge("link_loss_ratio", "Probability that a packet from the servers is lost.", s.Loss, link)
	out.counter("sent_bytes_total", "Bytes that left through the link, with the headers of each packet on the wire.", float64(s.Stats.SentBytes), nil)
	out.counter("sent_packets_total", "Packets that left through the link, as on the wire.", float64(s.Stats.SentPackets), nil)
	out.counter("dropped_packets_total", "Packets dropped by a full queue, and by loss in the kernel backend.", float64(s.Stats.Drops), nil)
	out.counter("lost_packets_total", "Packets lost because the link has a loss.", float64(s.Stats.LossDrops), nil)
	out.counter("tcp_segments_total", "TCP segments that the servers sent, those sent again included.", float64(s.Stats.TCPSegments), nil)
	out.counter("tcp_retransmitted_segments_total", "TCP segments that the servers sent again.", float64(s.Stats.TCPRetransmitted), nil)
	out.gauge("backlog_bytes", "Bytes waiting in the link's queue; in the kernel backend including those in flight.", float64(s.Stats.BacklogBytes), nil)
	if line := s.Stats.DelayLine; line != nil {
		out.counter("line_packets_total", "Packets that passed the user-space delay line since the link was set.", float64(line.Packets), nil)
		out.counter("line_dropped_packets_total", "Packets that were lost in the user-space delay line, or in a full queue beside it.", float64(line.Dropped), nil)
		out.counter("line_shed_packets_total", "Late acknowledgements that the user-space delay line dropped because a later one repeated them.", float64(line.Shed), nil)
		out.gauge("line_queued_packets", "Packets held in the user-space delay line.", float64(line.Queued), nil)
	}
	if h, ok := c.agent.lateness(); ok {
		below := map[float64]uint64{}
		for _, us := range latenessBounds {
			below[float64(us)/1e6] = uint64(h.Below(us - 1))
		}
		out <- prometheus.MustNewConstHistogram(desc("line_lateness_seconds", "How late packets left the user-space delay line.", nil), uint64(h.Count), float64(h.SumUs)/1e6, below)
	}
}

func (c *collector) collectProcs(out scrape) {
	procs, err := c.procs.read()
	if err != nil {
		out.failed(err)
		return
	}
	for _, p := range procs.Procs {
		server := prometheus.Labels{"port": strconv.Itoa(p.Port), "command": p.Command}
		out.counter("server_cpu_seconds_total", "CPU time of the processes that listen on a port.", p.CPUSeconds, server)
		out.gauge("server_memory_bytes", "Memory of the processes that listen on a port, shared pages once.", float64(p.RSSBytes), server)
	}
	out.counter("host_cpu_busy_seconds_total", "CPU time of the whole host that was not idle.", procs.Host.Busy, nil)
	out.gauge("host_cpus", "CPUs of the host.", float64(procs.Host.CPUs), nil)
	out.counter("agent_cpu_seconds_total", "CPU time of the agent: the cost of the emulation outside of the kernel.", procs.Agent.CPUSeconds, nil)
}
