package retrieval

import (
	"sync"
	"time"

	"github.com/prometheus/procfs"
	"go.k6.io/k6/metrics"
)

// process accounts for k6 itself, in two metrics of its own that k6 does not
// have: what producing the load takes of the machine, while it does.
type process struct {
	mu      sync.Mutex
	counted float64 // CPU seconds that were pushed
}

// samples returns the CPU time, user and system, since the last samples, and
// the memory held now. It returns none where there is no /proc.
func (p *process) samples(registry *metrics.Registry, tags *metrics.TagSet, now time.Time) metrics.Samples {
	self, err := procfs.Self()
	if err != nil {
		return nil
	}
	stat, err := self.Stat()
	if err != nil {
		return nil
	}
	p.mu.Lock()
	seconds := stat.CPUTime() - p.counted
	p.counted += seconds
	p.mu.Unlock()
	sample := func(name string, kind metrics.MetricType, value float64) metrics.Sample {
		metric := registry.MustNewMetric(name, kind)
		return metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: metric, Tags: tags}, Time: now, Value: value}
	}
	return metrics.Samples{
		sample("process_cpu_seconds", metrics.Counter, seconds),
		sample("process_resident_memory_bytes", metrics.Gauge, float64(stat.ResidentMemory())),
	}
}
