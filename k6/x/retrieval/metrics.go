package retrieval

import (
	"strconv"
	"sync/atomic"
	"time"

	"go.k6.io/k6/lib"
	"go.k6.io/k6/metrics"

	"piecebench/k6/x/retrieval/httpget"
	"piecebench/records"
)

// sampler makes k6's own HTTP samples of a client's requests. Beside the
// system tags that the script has on, each has the tag outcome, one of records.Outcomes.
type sampler struct {
	state *lib.State

	// The tags of the last request: the next one's are mostly the same.
	base    *metrics.TagSet
	name    string
	status  int32
	outcome records.Outcome
	tags    *metrics.TagSet
}

// request returns the samples of one finished request, as k6's http module
// makes them: http_req_duration is waiting + receiving, without connecting.
// Sending is a part of waiting. The name is that of the tags name and url: the
// template, or there would be a series for each piece.
func (s *sampler) request(base metrics.TagsAndMeta, name string, r *httpget.Result) metrics.SampleContainer {
	tags := s.tagsFor(base, name, r)
	failed := 0.0
	if r.Outcome != records.OK {
		failed = 1
	}
	m := s.state.BuiltinMetrics
	waiting := time.Duration(r.TTFBNs)
	values := [...]struct {
		metric *metrics.Metric
		value  float64
	}{
		{m.HTTPReqs, 1},
		{m.HTTPReqDuration, metrics.D(waiting + r.Receiving)},
		{m.HTTPReqBlocked, metrics.D(r.Blocked)},
		{m.HTTPReqConnecting, metrics.D(time.Duration(r.ConnectNs))},
		{m.HTTPReqTLSHandshaking, metrics.D(time.Duration(r.TLSNs))},
		{m.HTTPReqSending, metrics.D(r.Sending)},
		{m.HTTPReqWaiting, metrics.D(waiting)},
		{m.HTTPReqReceiving, metrics.D(r.Receiving)},
		{m.HTTPReqFailed, failed},
	}
	samples := make([]metrics.Sample, len(values))
	for i, v := range values {
		samples[i] = metrics.Sample{
			TimeSeries: metrics.TimeSeries{Metric: v.metric, Tags: tags},
			Time:       r.End, Metadata: base.Metadata, Value: v.value,
		}
	}
	return metrics.ConnectedSamples{Samples: samples, Tags: tags, Time: r.End}
}

func (s *sampler) tagsFor(base metrics.TagsAndMeta, name string, r *httpget.Result) *metrics.TagSet {
	if s.tags != nil && s.base == base.Tags && s.name == name && s.status == r.Status && s.outcome == r.Outcome {
		return s.tags
	}
	on := s.state.Options.SystemTags
	tm := base
	tm.SetSystemTagOrMetaIfEnabled(on, metrics.TagName, name)
	tm.SetSystemTagOrMetaIfEnabled(on, metrics.TagURL, name)
	tm.SetSystemTagOrMetaIfEnabled(on, metrics.TagMethod, "GET")
	tm.SetSystemTagOrMetaIfEnabled(on, metrics.TagStatus, strconv.Itoa(int(r.Status)))
	tm.SetSystemTagOrMetaIfEnabled(on, metrics.TagExpectedResponse, strconv.FormatBool(r.Outcome == records.OK))
	if r.HTTP != "" {
		tm.SetSystemTagOrMetaIfEnabled(on, metrics.TagProto, r.HTTP)
	}
	s.base, s.name, s.status, s.outcome = base.Tags, name, r.Status, r.Outcome
	s.tags = tm.Tags.With("outcome", string(r.Outcome))
	return s.tags
}

// jobMetrics are k6's metrics of jobs.
type jobMetrics struct{ jobs, duration, stage *metrics.Metric }

func newJobMetrics(registry *metrics.Registry) (m jobMetrics, err error) {
	if m.jobs, err = registry.NewMetric("jobs", metrics.Counter); err != nil {
		return m, err
	}
	if m.duration, err = registry.NewMetric("job_duration", metrics.Trend, metrics.Time); err != nil {
		return m, err
	}
	m.stage, err = registry.NewMetric("stage_duration", metrics.Trend, metrics.Time)
	return m, err
}

// samples returns those of one finished job: one of each stage, too.
func (m jobMetrics) samples(base metrics.TagsAndMeta, at time.Time, row *records.Job) metrics.Samples {
	sample := func(metric *metrics.Metric, tags *metrics.TagSet, value float64) metrics.Sample {
		return metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: metric, Tags: tags}, Time: at, Metadata: base.Metadata, Value: value}
	}
	tags := base.Tags.With("outcome", string(row.Outcome))
	samples := metrics.Samples{sample(m.jobs, tags, 1), sample(m.duration, tags, ms(row.DurationNs))}
	for _, s := range row.Stages {
		samples = append(samples, sample(m.stage, tags.With("stage", s.Name), ms(s.Ns)))
	}
	return samples
}

// pushData pushes data_received and data_sent of the bytes that have passed
// since the last time. k6 does so at the end of an iteration, which makes one
// spike of a long download. What is counted here, k6 does not count again. The
// samples of the process of k6 are pushed too.
func (c *cell) pushData(now time.Time) {
	type sums struct{ received, sent int64 }
	byTags := make(map[*metrics.TagSet]sums)
	var state *lib.State
	var latest *metrics.TagSet
	c.mu.Lock()
	for _, cl := range c.clients {
		d, tags := cl.dialer, cl.tags.Load()
		if d == nil || tags == nil {
			continue
		}
		state, latest = cl.state, tags
		s := byTags[tags]
		s.received += atomic.SwapInt64(&d.BytesRead, 0)
		s.sent += atomic.SwapInt64(&d.BytesWritten, 0)
		byTags[tags] = s
	}
	c.mu.Unlock()
	if state == nil {
		return
	}
	state.Samples <- c.process.samples(c.registry, latest, now)
	for tags, s := range byTags {
		state.Samples <- metrics.Samples{
			{TimeSeries: metrics.TimeSeries{Metric: state.BuiltinMetrics.DataReceived, Tags: tags}, Time: now, Value: float64(s.received)},
			{TimeSeries: metrics.TimeSeries{Metric: state.BuiltinMetrics.DataSent, Tags: tags}, Time: now, Value: float64(s.sent)},
		}
	}
}
