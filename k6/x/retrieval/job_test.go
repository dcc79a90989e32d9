package retrieval

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"piecebench/internal/plain"
	"piecebench/records"
)

// span is when something ran, as it measured itself.
type span struct{ from, to time.Time }

func (s span) inside(w span) time.Duration {
	from, to := s.from, s.to
	if from.Before(w.from) {
		from = w.from
	}
	if to.After(w.to) {
		to = w.to
	}
	return max(to.Sub(from), 0)
}

// spans are those of each part of a job: the least that it ran, inside of what is
// measured, and the most, around it.
type spans struct {
	mu          sync.Mutex
	least, most map[string][]span
}

func (s *spans) add(to map[string][]span, part string, from time.Time) {
	s.mu.Lock()
	to[part] = append(to[part], span{from, time.Now()})
	s.mu.Unlock()
}

func total(of []span, window span) (sum time.Duration) {
	for _, s := range of {
		sum += s.inside(window)
	}
	return sum
}

// A job downloads, verifies and computes, each for a known time. The times of jobs and
// stages are compared with those that the server and the stages measured themselves, from
// the inside and from the outside of what is measured. Some jobs are cut.
func TestJobsAndStagesTakeTheTimeThatTheyTook(t *testing.T) {
	for name, duration := range map[string]time.Duration{"a quarter is cut": 750 * time.Millisecond, "two fifths are cut": 370 * time.Millisecond} {
		t.Run(name, func(t *testing.T) { timesOfJobs(t, duration) })
	}
}

func timesOfJobs(t *testing.T, duration time.Duration) {
	const margin = 0.02
	const warmup = 150 * time.Millisecond
	s := &spans{least: map[string][]span{}, most: map[string][]span{}}
	serve := func(files http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			from := time.Now()
			select {
			case <-time.After(90 * time.Millisecond):
			case <-r.Context().Done():
			}
			s.add(s.least, records.Download, from)
			files.ServeHTTP(w, r)
		})
	}
	b := newBench(t, 1<<20, serve, records.Cell{Length: 1 << 10, Warmup: warmup, Duration: duration})
	from := b.scenario.StartTime.Add(warmup)
	window := span{from, from.Add(duration)}
	var clients sync.WaitGroup
	for client := range 5 {
		v := b.vu(t, uint64(client+1))
		var began time.Time
		v.runtime.Set("mark", func() { began = time.Now() })
		v.runtime.Set("marked", func(part string) { s.add(s.most, part, began) })
		v.runtime.Set("work", func(part string, ms int) {
			from := time.Now()
			pause(b.ctx, time.Duration(ms)*time.Millisecond)
			s.add(s.least, part, from)
		})
		clients.Go(func() {
			time.Sleep(time.Duration(client) * 40 * time.Millisecond)
			for b.ctx.Err() == nil {
				from := time.Now()
				_, _ = v.run(`client.job(() => {
				  mark(); client.get(); marked('download');
				  mark(); client.stage('verify', () => work('verify', 60)); marked('verify');
				  mark(); client.stage('compute', () => { compute(1); work('compute', 70) }); marked('compute');
				  work('job', 0);
				})`)
				s.add(s.most, "job", from)
			}
		})
	}
	clients.Wait()
	_, jobs := b.results(t)

	got, overlap := map[string]time.Duration{}, int64(0)
	count := map[records.Outcome]int{}
	for _, j := range jobs {
		count[j.Outcome]++
		overlap += j.OverlapWindowNs
		got["job"] += time.Duration(j.WindowNs)
		for _, stage := range j.Stages {
			got[stage.Name] += time.Duration(stage.WindowNs)
		}
	}
	t.Logf("jobs: %v", count)
	if count[records.Cut] == 0 || count[records.OK] == 0 || count[records.Failed] > 0 || overlap != 0 {
		t.Errorf("jobs %v, overlap %d: want ok and cut ones without overlaps", count, overlap)
	}
	mostJob := total(s.most["job"], window)
	if got["job"] > mostJob {
		t.Errorf("jobs took %s in the window, those who ran them saw %s", got["job"], mostJob)
	}
	for _, stage := range []string{records.Download, "verify", "compute"} {
		least := total(s.least[stage], window)
		most := mostJob // of what was interrupted nobody saw the end
		for _, other := range []string{records.Download, "verify", "compute"} {
			if other != stage {
				most -= total(s.most[other], window)
			}
		}
		share := float64(got[stage]) / float64(got["job"])
		t.Logf("%s: share %.4f; %s, between %s and %s", stage, share, got[stage], least, most)
		if f := float64(got[stage]); f < float64(least)*(1-margin) || f > float64(most)*(1+margin) {
			t.Errorf("%s took %s in the window, want %s to %s", stage, got[stage], least, most)
		}
	}
}

// Stages overlap: what ran at once is counted for each of them, and as overlap.
func TestATimelineAddsUp(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond) }
	line := timeline{start: at(100), end: at(1000), at: at(0)}
	for _, step := range []struct {
		ms   int
		name string
		by   int
	}{
		{50, "download", 1},   // before the window
		{150, "download", 1},  // a second one at once
		{200, "verify", 1},    // overlaps
		{300, "download", -1}, // one still runs
		{400, "store", 1},     // three at once
		{500, "verify", -1},
		{550, "download", -1},
		{600, "store", -1}, // then nothing
		{900, "download", 1},
	} {
		line.change(step.name, step.by, at(step.ms))
	}
	line.advance(at(1200)) // after the window
	want := []records.Stage{
		{Name: "download", Ns: 600e6, WindowNs: 550e6}, // 50 to 550, 900 to 1000
		{Name: "verify", Ns: 300e6, WindowNs: 300e6},
		{Name: "store", Ns: 200e6, WindowNs: 200e6},
	}
	var got []records.Stage
	sum := int64(0)
	for _, s := range line.stages {
		got = append(got, s.Stage)
		sum += s.WindowNs
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	const other = 300e6 // 600 to 900
	if window := int64(line.inside(at(0), at(1200))); sum-line.overlap+other != window || line.overlap != 450e6 {
		t.Errorf("stages %d, overlap %d, other %d: want %d of the window", sum, line.overlap, int64(other), window)
	}
}

func TestAJobThatThrowsIsRecordedAndSaysSo(t *testing.T) {
	b := newBench(t, 1<<20, nil, records.Cell{Length: 64 << 10})
	v := b.vu(t, 1)
	cases := [][2]string{
		{"client.job(() => { throw new Error('boom') })", "Error: boom"},
		{"client.job(() => { client.stage('verify', () => { throw new Error('boom') }) })", "Error: boom"},
		{"client.job(() => { throw 'x\\n'.repeat(100000) })", plain.Line(strings.Repeat("x ", 1000))},
		{"client.job(() => { throw { toString() { throw 'inner' } } })", "the script threw an error that cannot be shown"},
		{"client.job(() => { client.get({ piece: 0, offset: 0, length: 10 }); missing() })", "ReferenceError: missing is not defined"},
		{"client.job(() => { client.start([client.next(), client.next()]); throw 'at once' })", "at once"},
	}
	for _, c := range cases {
		if _, err := v.run(c[0]); err == nil {
			t.Errorf("%s: no error", c[0])
		}
	}
	requests, jobs := b.results(t)
	if len(jobs) != len(cases) {
		t.Fatalf("%d jobs, want %d", len(jobs), len(cases))
	}
	for i, j := range jobs {
		if j.Outcome != records.Failed || j.Error != cases[i][1] || j.Number != int64(i+1) {
			t.Errorf("%s: job %d %s %q, want %q", cases[i][0], j.Number, j.Outcome, j.Error, cases[i][1])
		}
	}
	for _, j := range jobs {
		n := int64(0)
		for _, r := range requests {
			if r.Job == j.Number {
				n++
			}
		}
		if n != j.Requests {
			t.Errorf("job %d says %d requests, %d rows say so: %v", j.Number, j.Requests, n, j)
		}
	}
}

// The download stage of a job is the union of its requests' times.
func TestRequestsOfAJobAreItsDownload(t *testing.T) {
	slow := func(files http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(10 * time.Millisecond)
			files.ServeHTTP(w, r)
		})
	}
	b := newBench(t, 1<<20, slow, records.Cell{Length: 1000})
	v := b.vu(t, 1)
	if _, err := v.run(`
	  client.get();
	  client.job(() => {
	    const ahead = client.start([client.next(), client.next(), client.next()], { parallel: 2 });
	    client.stage('verify', () => client.batch([client.next()]));
	    client.get();
	    if (ahead.wait().length !== 3 || ahead.wait() !== ahead.wait()) throw 'wait';
	  })`); err != nil {
		t.Fatal(err)
	}
	requests, jobs := b.results(t)
	var mine []records.Request
	for _, r := range requests {
		if r.Job == 1 {
			mine = append(mine, r)
		}
	}
	if len(jobs) != 1 || len(mine) != 5 || len(requests) != 6 || jobs[0].Requests != 5 || jobs[0].Bytes != 5000 || jobs[0].Outcome != records.OK {
		t.Fatalf("jobs %+v, %d of %d requests", jobs, len(mine), len(requests))
	}
	slices.SortFunc(mine, func(a, b records.Request) int { return int(a.StartUnixNs - b.StartUnixNs) })
	var union, until int64
	for _, r := range mine {
		end := r.StartUnixNs + r.DurationNs
		union += max(end-max(r.StartUnixNs, until), 0)
		until = max(until, end)
	}
	stages := map[string]records.Stage{}
	for _, s := range jobs[0].Stages {
		stages[s.Name] = s
	}
	download, verify := stages[records.Download], stages["verify"]
	if download.Ns < union || download.Ns > jobs[0].DurationNs || verify.Ns < 10e6 || download.Ns != download.WindowNs {
		t.Errorf("download %+v, verify %+v; the requests took %d of the job's %d", download, verify, union, jobs[0].DurationNs)
	}
	if jobs[0].OverlapWindowNs < 10e6 || jobs[0].OverlapWindowNs > verify.Ns {
		t.Errorf("overlap %d: the stage of %d ran while requests did", jobs[0].OverlapWindowNs, verify.Ns)
	}
}

func TestAJobOfAFailedRequestFails(t *testing.T) {
	broken := func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	}
	b := newBench(t, 1<<20, broken, records.Cell{Length: 1000})
	if v, err := b.vu(t, 1).run(`client.job(() => { client.stage('later', () => 1); client.get(); return client.batch([client.next()])[0].outcome })`); err != nil || v.String() != "status" {
		t.Fatal(v, err)
	}
	_, jobs := b.results(t)
	if j := jobs[0]; j.Outcome != records.Failed || j.Error != "status: status 502, want 206" || j.Requests != 2 {
		t.Errorf("%+v", j)
	}
	if names := fmt.Sprint(jobs[0].Stages[0].Name, jobs[0].Stages[1].Name); names != "laterdownload" {
		t.Errorf("stages %+v are not in their order", jobs[0].Stages)
	}
}
