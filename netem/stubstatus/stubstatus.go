// Package stubstatus makes Prometheus metrics of nginx's stub_status page. They
// have the names that nginx-prometheus-exporter gives them, so that dashboards
// made for it work.
package stubstatus

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// timeout bounds how long a busy nginx holds up a scrape.
const timeout = time.Second

// Collector reads the page at each scrape.
type Collector struct {
	url    string
	client http.Client
}

// NewCollector returns a collector for the page at a URL.
func NewCollector(url string) *Collector {
	// A transport of its own: the default one would go through a proxy.
	return &Collector{url, http.Client{Timeout: timeout, Transport: &http.Transport{}}}
}

var descUp = desc("up", "Whether the last read of nginx's status page succeeded.")

// fields are the figures in the order of the page.
var fields = []struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}{
	{desc("connections_active", "Client connections, waiting ones included."), prometheus.GaugeValue},
	{desc("connections_accepted", "Client connections accepted."), prometheus.CounterValue},
	{desc("connections_handled", "Client connections handled: fewer than accepted where a limit was reached."), prometheus.CounterValue},
	{desc("http_requests_total", "Requests, those of this scrape included."), prometheus.CounterValue},
	{desc("connections_reading", "Connections whose request head nginx is reading."), prometheus.GaugeValue},
	{desc("connections_writing", "Connections to which nginx is writing."), prometheus.GaugeValue},
	{desc("connections_waiting", "Idle connections."), prometheus.GaugeValue},
}

func desc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("nginx_"+name, help, nil, nil)
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	out <- descUp
	for _, f := range fields {
		out <- f.desc
	}
}

// Collect implements prometheus.Collector. An nginx that does not answer is
// nginx_up 0, and no error: the rest of the scrape is good.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	values, err := c.read()
	if err != nil {
		out <- prometheus.MustNewConstMetric(descUp, prometheus.GaugeValue, 0)
		return
	}
	out <- prometheus.MustNewConstMetric(descUp, prometheus.GaugeValue, 1)
	for i, f := range fields {
		out <- prometheus.MustNewConstMetric(f.desc, f.kind, values[i])
	}
}

// page is nginx's page, its white space made single spaces.
const page = "Active connections: %g server accepts handled requests %g %g %g Reading: %g Writing: %g Waiting: %g"

func (c *Collector) read() (v [7]float64, err error) {
	response, err := c.client.Get(c.url)
	if err != nil {
		return v, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return v, err
	}
	_, err = fmt.Sscanf(strings.Join(strings.Fields(string(body)), " "), page, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6])
	return v, err
}
