package result

import (
	"iter"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piecebench/records"
)

func jobRows(jobs ...records.Job) iter.Seq2[records.Job, error] {
	return func(yield func(records.Job, error) bool) {
		for _, j := range jobs {
			if !yield(j, nil) {
				return
			}
		}
	}
}

// job lasts from one time to another, in seconds since the warm-up began. download of it
// is downloading, and verify of it verifying, at the end and perhaps at the same time.
func job(from, to, download, verify float64, outcome records.Outcome) records.Job {
	ns := func(s float64) int64 { return int64(math.Round(s * 1e9)) }
	inside := func(from, to float64) int64 { return max(0, min(ns(to), window.EndNs)-max(ns(from), window.StartNs)) }
	return records.Job{
		StartUnixNs: ns(from), DurationNs: ns(to) - ns(from), WindowNs: inside(from, to), Outcome: outcome, Requests: 4,
		Stages: []records.Stage{
			{Name: records.Download, Ns: ns(download), WindowNs: inside(from, from+download)},
			{Name: "verify", Ns: ns(verify), WindowNs: inside(to-verify, to)},
		},
		OverlapWindowNs: inside(to-verify, from+download),
	}
}

func summariseJobs(t *testing.T, concurrency int, jobs ...records.Job) *Jobs {
	t.Helper()
	c := Cell{Concurrency: concurrency}
	recorded, err := SummariseJobs(jobRows(jobs...), window, &c)
	if err != nil || recorded != int64(len(jobs)) {
		t.Fatalf("%d of %d jobs, %v", recorded, len(jobs), err)
	}
	return c.Jobs
}

func TestJobsAreCountedAndTimedAsRequestsAre(t *testing.T) {
	failed := job(4, 5, 1, 0, records.Failed)
	failed.Error = "verify: block 3 differs"
	j := summariseJobs(t, 1,
		job(0, 1, 1, 0, records.OK), // in the warm-up
		job(1, 3, 1, 1, records.OK), // from the warm-up into the window
		job(3, 4, 0.5, 0.4, records.OK),
		failed, failed,
		job(5, 7, 1.5, 0.5, records.OK),
		job(7, 10, 2, 1, records.OK),
		job(10, 12.01, 2, 0, records.Cut),
	)
	if j.OK != 4 || j.Failed != 2 || j.Cut != 1 || j.Started != 6 || j.Requests != 4 || j.Warmup {
		t.Errorf("%+v", j)
	}
	if len(j.FirstErrors) != 1 || j.FirstErrors[0] != failed.Error {
		t.Errorf("errors %q", j.FirstErrors)
	}
	// Censored at 1, 1 and 2 s; ended after 1, 2 and 3 s.
	wantQuantile(t, "p50", j.Duration.P50, 3000, false)
	wantQuantile(t, "p100", j.Duration.P100, 3000, false)
	if rate, ok := j.SuccessRate(); !ok || math.Abs(rate-4.0/6) > 1e-9 || j.All() != 7 {
		t.Errorf("success %v of %d", rate, j.All())
	}
}

func TestTheLongestJobIsABoundIfACutOneIsOlder(t *testing.T) {
	j := summariseJobs(t, 1, job(2, 3, 1, 0, records.OK), job(3, 4, 1, 0, records.OK), job(4, 12, 8, 0, records.Cut))
	wantQuantile(t, "p50", j.Duration.P50, 1000, false)
	wantQuantile(t, "p100", j.Duration.P100, 8000, true)
}

func TestSharesOfStagesAreOfAllTimeInTheWindow(t *testing.T) {
	// One client: 10 s of jobs fill the window of 10 s, the warm-up's share of the first apart.
	j := summariseJobs(t, 1,
		job(0, 4, 1, 1, records.OK),     // 2 s in the window: 1 s verifying, 1 s nothing
		job(4, 8, 3, 2, records.OK),     // 1 s both
		job(8, 9, 1, 0, records.Failed), // counts as well
		job(9, 13, 4, 0, records.Cut),   // 3 s in the window
	)
	want := map[string]float64{"download": 0.7, "verify": 0.3, "overlap": 0.1, "other": 0.1}
	got := map[string]float64{"download": j.Share("download"), "verify": j.Share("verify"), "overlap": j.Overlap, "other": j.Other}
	for name := range got {
		got[name] = math.Round(1e9*got[name]) / 1e9
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := stageShares(*j); got != "download=0.7;verify=0.3" {
		t.Error(got)
	}
}

func TestACellWithoutJobsHasNoFiguresOfThem(t *testing.T) {
	if j := summariseJobs(t, 1); j != nil {
		t.Errorf("%+v", j)
	}
	if j := summariseJobs(t, 1, job(2, 3, 1, 0, records.Failed)); j == nil || j.Duration.P50 != nil {
		t.Errorf("only failed ones: %+v", j)
	}
	// Too few ended inside the window: those of the warm-up count too.
	if j := summariseJobs(t, 2, job(0, 1, 1, 0, records.OK), job(3, 4, 1, 0, records.OK)); !j.Warmup || j.OK != 1 {
		t.Errorf("%+v", j)
	}
}
