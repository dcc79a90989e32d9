// Package result holds what a run leaves on disk: run.json, cells.csv and the
// per-request records. Everything a report shows is derived from these files.
package result

import (
	"time"

	"piecebench/records"
)

// SchemaVersion is the version of run.json that this package writes.
const SchemaVersion = 1

// Run is the content of run.json.
type Run struct {
	Schema       int               `json:"schema"`
	ID           string            `json:"id"`         // the folder's name: <UTC time>-<host>
	Piecebench   string            `json:"piecebench"` // version of this program
	Started      time.Time         `json:"started"`
	Finished     *time.Time        `json:"finished,omitempty"`  // nil while running, and after a run that was interrupted
	Settings     map[string]string `json:"settings"`            // variable -> value, as in DESIGN (CONCURRENCY, LINKS, ...)
	Fingerprint  map[string]string `json:"fingerprint"`         // what the machine is: cpu, kernel, versions, ...
	Calibrations []Calibration     `json:"calibrations"`        // one a link, in the order of the sweep
	Generator    *Generator        `json:"generator,omitempty"` // nil without a link agent
	Planned      int               `json:"planned"`             // number of cells that the whole sweep has
	Cells        []Cell            `json:"cells"`               // in the order they ran
	Capacity     *Capacity         `json:"capacity,omitempty"`  // nil of a sweep
}

// Calibration is what a link was measured to be before its cells ran.
// Rates are goodput in bits per second; times are milliseconds.
type Calibration struct {
	Link          string            `json:"link"`    // as asked: "1gbit/40ms"
	Backend       string            `json:"backend"` // kernel or userspace; empty for link "none"
	AskedRateBits int64             `json:"asked_rate_bits"`
	AskedDelayMs  float64           `json:"asked_delay_ms"` // one-way, on the servers' egress
	IdleRTTMs     float64           `json:"idle_rtt_ms"`    // median TCP connect time
	ExpectedBits  int64             `json:"expected_bits"`  // the most goodput that the asked rate allows
	Unshaped      []StreamsCapacity `json:"unshaped"`       // the same path with no rate and no delay
	Through       []StreamsCapacity `json:"through"`        // through the link
	CeilingBits   int64             `json:"ceiling_bits"`   // the most measured through the link
	// CeilingAfterBits is the ceiling measured again after the sweep; 0 of a run
	// that did not get there.
	CeilingAfterBits int64    `json:"ceiling_after_bits,omitempty"`
	HostLimited      bool     `json:"host_limited"` // slower than asked because this machine is
	Notes            []string `json:"notes,omitempty"`
}

// Generator is the most that k6 was measured to receive on this machine, before
// and after the sweep, without a link and from memory. Rates are goodput in bits
// per second.
type Generator struct {
	Clients          int      `json:"clients"`
	CeilingBits      int64    `json:"ceiling_bits"`
	CeilingAfterBits int64    `json:"ceiling_after_bits,omitempty"` // 0 of a run that did not get there
	HostCPU          float64  `json:"host_cpu"`                     // busy share of all CPUs of the runner's machine, 0 to 1
	CPUSPerGB        *float64 `json:"cpu_s_per_gb,omitempty"`
}

// DriftTolerance is the share by which a ceiling may differ after the sweep
// from what it was before.
const DriftTolerance = 0.05

// Drift returns by which share a ceiling changed, and false where it was not
// measured again.
func Drift(before, after int64) (share float64, known bool) {
	if before <= 0 || after <= 0 {
		return 0, false
	}
	return float64(after)/float64(before) - 1, true
}

// StreamsCapacity is the goodput measured with a number of parallel streams.
type StreamsCapacity struct {
	Streams     int     `json:"streams"`
	GoodputBits int64   `json:"goodput_bits"`
	HostCPU     float64 `json:"host_cpu"` // busy share of all CPUs of the runner's machine, 0 to 1
}

// Cell is one target under one (link, mode, concurrency), one repetition.
type Cell struct {
	ID          int    `json:"cell"` // from 1, in the plan's order
	Target      string `json:"target"`
	Link        string `json:"link"`
	Mode        string `json:"mode"` // full, 1MiB, ...
	Concurrency int    `json:"concurrency"`
	Repetition  int    `json:"repetition"` // from 1

	WindowStart time.Time               `json:"window_start,omitzero"` // UTC
	WindowS     float64                 `json:"window_s"`
	RequestsOK  int64                   `json:"requests_ok"`
	RequestsCut int64                   `json:"requests_cut"`
	Failed      map[records.Outcome]int `json:"failed"` // outcome -> count, failures only
	FirstErrors []string                `json:"first_errors,omitempty"`
	// WindowBytes are the payload bytes inside the window of requests that
	// succeeded, or were cut without a fault: what goodput counts.
	WindowBytes int64 `json:"window_bytes"`
	// DeliveredBytes are those of all requests, failed ones too. 0 of a run of an
	// older piecebench, which counted all in WindowBytes.
	DeliveredBytes  int64         `json:"delivered_bytes,omitempty"`
	TTFB            Quantiles     `json:"ttfb_ms"`
	Duration        Quantiles     `json:"duration_ms"`
	WarmupQuantiles bool          `json:"warmup_quantiles,omitempty"` // the quantiles include requests of the warm-up: too few began and ended in the window
	ServerCPUSPerGB *float64      `json:"server_cpu_s_per_gb,omitempty"`
	ServerRSSMB     *float64      `json:"server_rss_mb,omitempty"` // MB = 1e6 bytes
	GenCPUSPerGB    *float64      `json:"generator_cpu_s_per_gb,omitempty"`
	HostCPU         float64       `json:"host_cpu"` // busy share during the window, 0 to 1
	CeilingBits     int64         `json:"ceiling_bits,omitempty"`
	HostLimited     bool          `json:"host_limited,omitempty"`
	LimitedBy       string        `json:"limited_by"`        // the bottleneck; empty when not known
	Because         string        `json:"because,omitempty"` // the figures that show it, in words
	Evidence        *Evidence     `json:"evidence,omitempty"`
	Series          []SeriesPoint `json:"series,omitempty"`  // the delivered rate over time, one a second
	Records         string        `json:"records,omitempty"` // requests/....parquet, relative to the run

	// FailedStatus counts the failures of outcome status by their HTTP status.
	FailedStatus map[string]int `json:"failed_by_status,omitempty"`
	// Verified counts those of the ok, failed and cut requests of which bytes were
	// compared with the piece's; VerifiedBytes are these bytes, if right.
	Verified      int64 `json:"requests_verified,omitempty"`
	VerifiedBytes int64 `json:"verified_bytes,omitempty"`
	// Fairness is Jain's index over the clients' shares of WindowBytes: 1 if all got
	// the same. Nil if nothing came, and of a run of an older piecebench.
	Fairness *float64 `json:"fairness,omitempty"`
	Jobs     *Jobs    `json:"jobs,omitempty"` // nil where the workload has none
}

// RequestsFailed returns the number of failed requests.
func (c Cell) RequestsFailed() int64 {
	var n int64
	for _, v := range c.Failed {
		n += int64(v)
	}
	return n
}

// SuccessRate returns ok / (ok + failed), and false when nothing finished.
func (c Cell) SuccessRate() (float64, bool) {
	done := c.RequestsOK + c.RequestsFailed()
	if done == 0 {
		return 0, false
	}
	return float64(c.RequestsOK) / float64(done), true
}

// LinkShare returns goodput / the link's measured ceiling, and false where
// no ceiling is known.
func (c Cell) LinkShare() (float64, bool) { return c.ofCeiling(c.GoodputBits()) }

// LinkUse returns the delivered rate / the link's measured ceiling: how full the
// link was, whatever became of what it carried. False where no ceiling is known.
func (c Cell) LinkUse() (float64, bool) { return c.ofCeiling(c.DeliveredBits()) }

func (c Cell) ofCeiling(bits float64) (float64, bool) {
	if c.CeilingBits <= 0 {
		return 0, false
	}
	return bits / float64(c.CeilingBits), true
}

// WindowEnd returns when the window ended, UTC.
func (c Cell) WindowEnd() time.Time {
	return c.WindowStart.Add(time.Duration(c.WindowS * float64(time.Second)))
}

// GoodputBits returns the payload bits per second inside the window of requests
// that succeeded, or were cut without a fault.
func (c Cell) GoodputBits() float64 { return float64(c.WindowBytes) * 8 / c.WindowS }

// Delivered returns the payload bytes inside the window of all requests.
func (c Cell) Delivered() int64 { return max(c.DeliveredBytes, c.WindowBytes) }

// DeliveredBits returns the payload bits per second inside the window of all
// requests: what went through link, server and generator.
func (c Cell) DeliveredBits() float64 { return float64(c.Delivered()) * 8 / c.WindowS }

// CountsFailed tells that WindowBytes include bytes of failed requests, as those
// of an older piecebench do.
func (c Cell) CountsFailed() bool {
	return c.DeliveredBytes == 0 && c.WindowBytes > 0 && c.RequestsFailed() > 0
}

// Quantiles of a duration, in milliseconds. A nil value does not exist
// (nothing was seen).
type Quantiles struct {
	P50 *Quantile `json:"p50"`
	P95 *Quantile `json:"p95"`
	P99 *Quantile `json:"p99"`
}

// Quantile is a quantile, or a lower bound of it where requests that were cut
// make it unknowable.
type Quantile struct {
	Ms    float64 `json:"ms"`
	Bound bool    `json:"bound,omitempty"` // the true value is above Ms
}

// SeriesPoint is the delivered rate of one second of a cell, warm-up included
// (negative T): while a request runs, nobody knows yet what becomes of it.
type SeriesPoint struct {
	T             float64 `json:"t_s"` // seconds since the window's start, at the second's end
	DeliveredBits float64 `json:"goodput_bits"`
}
