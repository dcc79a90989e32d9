// Package metrics counts what the gateway does, for Prometheus. Durations are
// seconds, sizes are bytes.
package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Causes of an aborted response.
const (
	ByClient = "client" // it closed or reset the connection, or took nothing for too long
	ByStore  = "store"  // the piece's file could not be read further
)

// Metrics of one gateway.
type Metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	duration  prometheus.Histogram
	reads     prometheus.Histogram
	reloads   *prometheus.CounterVec
	Bytes     prometheus.Counter
	FirstByte prometheus.Histogram
	Aborted   *prometheus.CounterVec // by ByClient or ByStore
}

// Gauges are read at each scrape.
type Gauges struct {
	InFlight, Connections, Pieces func() float64
}

// Times run from a page-cache hit, some 10 us, to a client on a slow link.
var (
	readBuckets     = prometheus.ExponentialBuckets(16e-6, 4, 10)  // to 4 s
	responseBuckets = prometheus.ExponentialBuckets(100e-6, 4, 12) // to 7 min
)

// New returns metrics in a registry of their own.
func New(g Gauges) *Metrics {
	const ns = "piece_gateway"
	registry := prometheus.NewRegistry()
	auto := promauto.With(registry)
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: ns, Name: name, Help: help}
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return auto.NewHistogram(prometheus.HistogramOpts{Namespace: ns, Name: name, Help: help, Buckets: buckets})
	}
	gauge := func(name, help string, read func() float64) {
		auto.NewGaugeFunc(prometheus.GaugeOpts{Namespace: ns, Name: name, Help: help}, read)
	}
	m := &Metrics{
		registry:  registry,
		requests:  auto.NewCounterVec(counter("requests_total", "Requests for pieces, by method and status."), []string{"method", "code"}),
		Bytes:     auto.NewCounter(counter("response_bytes_total", "Piece bytes handed to clients' sockets, as they are sent.")),
		FirstByte: histogram("time_to_first_byte_seconds", "From the request's head to the first bytes of its piece, for responses that have them.", responseBuckets),
		duration:  histogram("request_duration_seconds", "From the request's head to the response's last byte handed to the socket.", responseBuckets),
		reads:     histogram("store_read_seconds", "Reads of piece files. In the flat store, whose bytes the kernel sends unread, of the first and last byte of each chunk.", readBuckets),
		Aborted:   auto.NewCounterVec(counter("aborted_responses_total", "Responses that ended before their last byte, by who caused it."), []string{"cause"}),
		reloads:   auto.NewCounterVec(counter("manifest_reloads_total", "Reloads of the manifest, by result."), []string{"result"}),
	}
	gauge("requests_in_flight", "Requests for pieces being answered.", g.InFlight)
	gauge("connections", "Open client connections, idle ones too.", g.Connections)
	gauge("pieces", "Pieces in the manifest.", g.Pieces)
	registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewGoCollector(), collectors.NewBuildInfoCollector())
	// Series that exist from the start can be alerted on.
	for _, cause := range []string{ByClient, ByStore} {
		m.Aborted.WithLabelValues(cause)
	}
	for _, result := range []string{reloaded, refused} {
		m.reloads.WithLabelValues(result)
	}
	return m
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Read records one read of a piece file.
func (m *Metrics) Read(d time.Duration) { m.reads.Observe(d.Seconds()) }

// Done records a request that was answered. The method must be one of a few
// known ones.
func (m *Metrics) Done(method string, status int, d time.Duration) {
	m.requests.WithLabelValues(method, strconv.Itoa(status)).Inc()
	m.duration.Observe(d.Seconds())
}

// Results of a reload.
const reloaded, refused = "ok", "refused"

// Reloaded records a reload of the manifest.
func (m *Metrics) Reloaded(ok bool) {
	result := refused
	if ok {
		result = reloaded
	}
	m.reloads.WithLabelValues(result).Inc()
}
