package client

import (
	"math"
	"time"

	"piecebench/host"
	"piecebench/netem/link"
)

// Setting is a link on the wire.
type Setting struct {
	RateBits int64   `json:"rate_bits"` // what tbf limits, headers included; 0 is no cap
	DelayMs  float64 `json:"delay_ms"`  // one-way, which is what is added to the RTT; 0 is none
	Loss     float64 `json:"loss"`      // probability, 0 to 1, on the servers' egress
}

// SettingOf returns the wire form of a link.
func SettingOf(s link.Spec) Setting {
	return Setting{RateBits: s.RateBits, DelayMs: float64(s.Delay) / 1e6, Loss: s.Loss}
}

// Spec returns the link that the setting asks for.
func (s Setting) Spec() link.Spec {
	return link.Spec{RateBits: s.RateBits, Delay: time.Duration(math.Round(s.DelayMs * 1e6)), Loss: s.Loss}
}

// Request is the body of PUT /link. A link with a lease is gone, and the device
// as it was, when nobody has renewed the lease (PUT /lease) for so many seconds;
// without, or with 0, it stays until it is changed.
type Request struct {
	Setting
	LeaseS float64 `json:"lease_s,omitempty"`
}

// Backends, the way in which the delay is made.
const (
	Kernel    = "kernel"    // tc netem on the servers' egress
	Userspace = "userspace" // a delay line on the return path
)

// CongestionControlHeader names, in the answer of GET /healthz, the congestion
// control that the agent's end of the connection runs. The servers beside it run the
// same, unless they choose one themselves.
const CongestionControlHeader = "Congestion-Control"

// State is the link as the kernel reports it, the answer of GET and PUT /link.
type State struct {
	Setting
	Backend string `json:"backend"` // Kernel or Userspace
	// BackendReason says why this backend was chosen.
	BackendReason string `json:"backend_reason"`
	Device        string `json:"device"`
	// Lease names the lease of the link, and LeaseS is its whole length in
	// seconds; empty and 0 without one.
	Lease      string  `json:"lease,omitempty"`
	LeaseS     float64 `json:"lease_s,omitempty"`
	BurstBytes int64   `json:"burst_bytes"` // of tbf; 0 without a cap
	LimitBytes int64   `json:"limit_bytes"` // tbf's queue; 0 without a cap
	// NetemLimitPackets is netem's queue in packets, each up to 64 KB; 0 in
	// the userspace backend.
	NetemLimitPackets int64 `json:"netem_limit_packets"`
	Stats             Stats `json:"stats"`
}

// Stats are the counters of the servers' egress since its queue was made; of loss and of
// the delay line since the link was last set; of TCP since the servers' network
// namespace was made.
type Stats struct {
	// SentBytes left through the link, with the Ethernet, IP and TCP headers of each
	// packet on the wire; SentPackets are these packets. Both are 0 without a queue.
	SentBytes    int64 `json:"sent_bytes"`
	SentPackets  int64 `json:"sent_packets"`
	Drops        int64 `json:"drops"`      // by a full queue, and by loss where that is netem's; GSO packets count as one
	LossDrops    int64 `json:"loss_drops"` // packets lost because the link has a loss; not among those sent
	Overlimits   int64 `json:"overlimits"` // times that tbf had to wait
	BacklogBytes int64 `json:"backlog_bytes"`
	// TCPSegments are those that the servers' TCP sent, TCPRetransmitted among them
	// those that it sent again.
	TCPSegments      int64      `json:"tcp_segments"`
	TCPRetransmitted int64      `json:"tcp_retransmitted"`
	DelayLine        *DelayLine `json:"delay_line,omitempty"` // userspace backend with a delay only
}

// HeldAfter is the lateness from which TCP takes a packet of the delay line for lost:
// its minimum timeout, as a power of two in microseconds.
const HeldAfter = 1 << 18 * time.Microsecond

// DelayLine is how well the user-space delay line keeps its deadlines.
type DelayLine struct {
	Packets int64 `json:"packets"` // sent on
	Dropped int64 `json:"dropped"` // for lack of memory, or before it read them
	// Shed are acknowledgements that were dropped because they were more than 5 ms
	// late and a later one of the same connection repeats them. The CPUs of this
	// machine are then too busy for the link.
	Shed   int64 `json:"shed"`
	Queued int64 `json:"queued"` // held now
	// Late are packets sent on more than 1 ms (1.024) after their time.
	Late int64 `json:"late"`
	// Held are those sent on more than HeldAfter after it.
	Held int64 `json:"held"`
	// Lateness of the packets sent on, in microseconds beyond the delay, as an
	// upper bound: it includes the time that a packet may have waited unread.
	LatenessP50Us int64 `json:"lateness_p50_us"`
	LatenessP99Us int64 `json:"lateness_p99_us"`
	LatenessMaxUs int64 `json:"lateness_max_us"`
	// Priority is the scheduling of its thread: "fifo 10", "nice -20" or "nice 0".
	Priority string `json:"priority"`
	// SteeringCPUs is the mask of the CPUs that process the delayed packets, in
	// hexadecimal; "0" means that the line's thread does it alone.
	SteeringCPUs string `json:"steering_cpus"`
}

// Procs is what the servers and their host have used, the answer of GET /procs.
// All times are seconds since the process or the host started: take differences.
type Procs struct {
	Procs []Proc       `json:"procs"` // in the order of the agent's --ports
	Host  host.CPUTime `json:"host"`
	Agent Usage        `json:"agent"` // the agent itself: what the emulation costs beyond the kernel's part
}

// Proc is the processes that listen on one port, and those of further commands that
// the agent's --ports names with it.
type Proc struct {
	Port    int    `json:"port"`
	Command string `json:"command"` // empty when nothing listens
	PIDs    []int  `json:"pids"`
	Usage
	// AllowedCPUs is how many CPUs the processes may use: their affinity, or a
	// quota as far as it can be seen; 0 when nothing listens.
	AllowedCPUs float64 `json:"allowed_cpus"`
	// QuotaPeriods is in how many periods of that quota anything ran, and
	// ThrottledPeriods in how many of these it had to wait for the next; both since
	// the control group was made, 0 without a quota.
	QuotaPeriods     int64 `json:"quota_periods,omitempty"`
	ThrottledPeriods int64 `json:"throttled_periods,omitempty"`
	// ThreadSeconds is the CPU time of each thread, by its number: one thread
	// that is always busy limits a server on any number of CPUs.
	ThreadSeconds map[int]float64 `json:"thread_seconds,omitempty"`
	// Stopped says that one of them is stopped, by SIGSTOP or a debugger.
	Stopped bool `json:"stopped,omitempty"`
	// Problem says why there are no processes: NothingListens, or for example that
	// they are in another PID namespace; empty when all is well.
	Problem string `json:"problem,omitempty"`
}

// NothingListens is the Problem of a port without a server.
const NothingListens = "nothing listens on this port"

// Sockets is what TCP says of the established connections to one port of the
// servers at one moment, summed over them, the answer of GET /sockets?port=N.
// Seconds count from each connection's start.
type Sockets struct {
	Port        int `json:"port"`
	Established int `json:"established"`
	// Waiting are those with bytes that the server has written and TCP has not
	// sent yet. On the others all is under way that the server had to send.
	Waiting int `json:"waiting"`
	// BusySeconds is the time with unacknowledged or unsent bytes; in the two
	// that follow, parts of it, the client's window or the server's own send
	// buffer was full.
	BusySeconds            float64 `json:"busy_seconds"`
	ReceiverLimitedSeconds float64 `json:"receiver_limited_seconds"`
	BufferLimitedSeconds   float64 `json:"buffer_limited_seconds"`
	SentBytes              int64   `json:"sent_bytes"` // payload, retransmissions included
	RetransmittedBytes     int64   `json:"retransmitted_bytes"`
	RTTMs                  float64 `json:"rtt_ms"` // median of the smoothed round trips
	// OldestUnackedMs is the longest time for which one of them, with bytes in flight,
	// has received no acknowledgement and sent nothing new. Stalled is the number of
	// connections for which this exceeds 200 ms, TCP's minimum timeout, and also three
	// of their minimum round trips plus the time that their bytes in flight take at an
	// even share of the link's rate.
	OldestUnackedMs float64 `json:"oldest_unacked_ms"`
	Stalled         int     `json:"stalled"`
}

// Usage is the use of one or more processes.
type Usage struct {
	CPUSeconds float64 `json:"cpu_seconds"` // user and system
	RSSBytes   int64   `json:"rss_bytes"`
	// Memory says how RSSBytes was counted: "pss" (shared pages divided by
	// their sharers) or "rss" (shared pages counted in each process).
	Memory string `json:"memory"`
}
