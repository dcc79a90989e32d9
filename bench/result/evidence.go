package result

// Evidence is what was seen of a cell beside its requests, in its window where
// nothing else is said. What nobody could see is absent: of a server outside
// of the lab its CPU and its sockets.
type Evidence struct {
	HostCPUs  int       `json:"host_cpus"`     // CPUs of the runner's machine
	Ran       *Ran      `json:"ran,omitempty"` // absent of runs before it was kept
	Generator *CPUUse   `json:"generator,omitempty"`
	Server    *CPUUse   `json:"server,omitempty"`
	Agent     *float64  `json:"agent_cpus,omitempty"` // CPUs that the link agent used
	Emulator  *Emulator `json:"emulator,omitempty"`
	TCP       *TCP      `json:"tcp,omitempty"`
	Wire      *Wire     `json:"wire,omitempty"`
	// GeneratorBits is the generator's ceiling.
	GeneratorBits int64 `json:"generator_ceiling_bits,omitempty"`
	// RTTMs is the idle round trip: the link's calibration, or without a link
	// agent the least time that a connection took to set up.
	RTTMs float64 `json:"rtt_ms,omitempty"`
	// OpenMs is the time of a request that is alone on a connection whose window
	// holds all of it: the round trip, one more for a fresh connection, and its bytes
	// at the link's rate.
	OpenMs float64 `json:"open_ms,omitempty"`
	// FloorMs is the least time of a request that is alone on a new connection.
	FloorMs float64 `json:"floor_ms,omitempty"`
}

// Ran is what the generator really ran, by its own account. A cell in which that
// is not what was planned is refused.
type Ran struct {
	Clients  int     `json:"clients"`        // that made a request
	Requests int64   `json:"requests"`       // that ended or were cut, warm-up included
	Jobs     int64   `json:"jobs,omitempty"` // the same, of jobs
	WarmupS  float64 `json:"warmup_s"`
	WindowS  float64 `json:"window_s"`
	// SilenceS is the longest time without a sign of life of the generator; it gives
	// one a second.
	SilenceS float64 `json:"silence_s"`
}

// CPUUse is what processes used of the CPUs that they may use. 1 is one CPU all
// the time.
type CPUUse struct {
	CPUs          float64 `json:"cpus"`
	Allowed       float64 `json:"allowed"`                  // by affinity and quotas
	Throttled     float64 `json:"throttled,omitempty"`      // share of the quota's periods in which it was used up and something waited
	BusiestThread float64 `json:"busiest_thread,omitempty"` // servers only
}

// Emulator is how well the emulated link kept to its setting.
type Emulator struct {
	Dropped float64 `json:"dropped"` // share of the packets from the servers that found the queue full
	// Late is the share of the delay line's packets that left it more than 1 ms
	// late, or were left out because they were; Lost that of those that it had no
	// memory or no time for; Held is how many left it more than 262 ms late, when
	// TCP has taken them for lost. All are 0 where the kernel delays.
	Late float64 `json:"late"`
	Lost float64 `json:"lost"`
	Held int64   `json:"held,omitempty"`
}

// TCP is what the servers' TCP said of the target's connections. Waiting is of
// all samples, OldestUnackedMs and Stalled are the most in any; the others are
// of the last one, and count from each connection's start.
type TCP struct {
	Connections     int     `json:"connections"`
	Waiting         float64 `json:"waiting"`          // share of the connections on which TCP had yet to send what the server had written
	Busy            float64 `json:"busy_s"`           // seconds with bytes under way or waiting, summed over the connections
	ReceiverLimited float64 `json:"receiver_limited"` // share of these in which the client's window was full
	BufferLimited   float64 `json:"buffer_limited"`   // share in which the server's send buffer was
	Retransmitted   float64 `json:"retransmitted"`    // share of the bytes sent
	RTTMs           float64 `json:"rtt_ms"`           // median over connections, under load
	// OldestUnackedMs is the longest that a connection with bytes under way waited
	// for an acknowledgement; Stalled how many at a time waited for longer than
	// three round trips, what their share of the link explains, and 200 ms.
	OldestUnackedMs float64 `json:"oldest_unacked_ms,omitempty"`
	Stalled         int     `json:"stalled,omitempty"`
}
