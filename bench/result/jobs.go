package result

import (
	"errors"
	"iter"
	"slices"

	"piecebench/records"
)

// Jobs are the figures of a cell that come from its jobs. Counts and times are chosen as
// those of requests are: see Summarise.
type Jobs struct {
	Records     string       `json:"records"` // jobs/....parquet, relative to the run
	OK          int64        `json:"ok"`
	Failed      int64        `json:"failed"`
	Cut         int64        `json:"cut"`
	Started     int64        `json:"started"`                    // inside the window
	Requests    float64      `json:"requests_per_job"`           // mean of the jobs that Duration is of and that are ok
	Duration    JobQuantiles `json:"duration_ms"`                // of a job
	Warmup      bool         `json:"warmup_quantiles,omitempty"` // Duration includes jobs of the warm-up
	Stages      []Stage      `json:"stages"`                     // in the order in which they first began
	Overlap     float64      `json:"overlap_share"`              // of the jobs' time; counted once for each stage beyond the first
	Other       float64      `json:"other_share"`                // of the jobs' time, outside of all stages
	FirstErrors []string     `json:"first_errors,omitempty"`
}

// Stage is what one stage took of all jobs.
type Stage struct {
	Name   string  `json:"name"`
	Share  float64 `json:"share"`   // of the jobs' time in the window; all shares, less Overlap, with Other, are 1
	MeanMs float64 `json:"mean_ms"` // of the jobs that Duration is of and that are ok
}

// JobQuantiles are quantiles of the duration of jobs. The last is the longest.
type JobQuantiles struct {
	P50  *Quantile `json:"p50"`
	P90  *Quantile `json:"p90"`
	P99  *Quantile `json:"p99"`
	P100 *Quantile `json:"p100"`
}

// Share returns the share of a stage, 0 if there is none of that name.
func (j Jobs) Share(stage string) float64 {
	if i := slices.IndexFunc(j.Stages, func(s Stage) bool { return s.Name == stage }); i >= 0 {
		return j.Stages[i].Share
	}
	return 0
}

// All returns how many jobs were counted.
func (j Jobs) All() int64 { return j.OK + j.Failed + j.Cut }

// SuccessRate returns ok / (ok + failed), and false when no job ended.
func (j Jobs) SuccessRate() (float64, bool) {
	if j.OK+j.Failed == 0 {
		return 0, false
	}
	return float64(j.OK) / float64(j.OK+j.Failed), true
}

// SummariseJobs fills in cell.Jobs, nil where there was no job, and returns how many jobs
// were recorded, warm-up included. cell.Concurrency must be set.
//
// Shares are of the time of all jobs inside the window, cut and failed ones included: each
// client's time in the window is in it.
func SummariseJobs(rows iter.Seq2[records.Job, error], window records.Window, cell *Cell) (recorded int64, err error) {
	if window.EndNs <= window.StartNs {
		return 0, errors.New("the records of the jobs name no measured window")
	}
	var j Jobs
	var inside, all jobCohort
	var time, overlap int64
	stages := map[string]int64{}
	for row, err := range rows {
		if err != nil {
			return recorded, err
		}
		recorded++
		r := asRequest(row)
		if r.StartUnixNs >= window.EndNs {
			continue
		}
		cut := isCut(r, window)
		all.add(row, cut, window)
		if r.StartUnixNs >= window.StartNs {
			inside.add(row, cut, window)
			j.Started++
		}
		for _, s := range row.Stages {
			if _, known := stages[s.Name]; !known {
				j.Stages = append(j.Stages, Stage{Name: s.Name})
			}
			stages[s.Name] += s.WindowNs
		}
		time += row.WindowNs
		overlap += row.OverlapWindowNs
		if r.StartUnixNs+r.DurationNs <= window.StartNs {
			continue
		}
		switch {
		case cut:
			j.Cut++
		case row.Outcome == records.OK:
			j.OK++
		default:
			j.Failed++
			if len(j.FirstErrors) < maxErrors && !slices.Contains(j.FirstErrors, row.Error) {
				j.FirstErrors = append(j.FirstErrors, row.Error)
			}
		}
	}
	cell.Jobs = nil
	if all.size == 0 {
		return recorded, nil
	}
	share := func(ns int64) float64 { return float64(ns) / float64(max(1, time)) }
	j.Overlap, j.Other = share(overlap), 1+share(overlap)
	population := &inside
	j.Warmup = inside.ended < cell.Concurrency && all.size > inside.size
	if j.Warmup {
		population = &all
	}
	for i, s := range j.Stages {
		j.Stages[i].Share = share(stages[s.Name])
		j.Stages[i].MeanMs = population.mean(population.stages[s.Name]) / 1e6
		j.Other -= j.Stages[i].Share
	}
	j.Other = max(0, j.Other) // but for rounding
	j.Requests = population.mean(population.requests)
	if population.failed < population.size {
		at := func(p float64) *Quantile { return quantileOf(&population.duration, p) }
		j.Duration = JobQuantiles{P50: at(0.50), P90: at(0.90), P99: at(0.99), P100: at(1)}
	}
	cell.Jobs = &j
	return recorded, nil
}

// asRequest is what the choice of requests needs to know of a job.
func asRequest(j records.Job) records.Request {
	return records.Request{StartUnixNs: j.StartUnixNs, DurationNs: j.DurationNs, Outcome: j.Outcome}
}

// JobTime returns the duration of a job as it shows by the end of the window, and false of
// a job that the cell's quantiles are not of.
func (j Jobs) JobTime(row records.Job, window records.Window) (Time, bool) {
	r := asRequest(row)
	return TimesOf(r, window).Duration, Cell{WarmupQuantiles: j.Warmup}.Observes(r, window)
}

// jobCohort is a set of jobs chosen by when they started.
type jobCohort struct {
	cohort
	ok, requests int64            // of these that are ok
	stages       map[string]int64 // nanoseconds, of these that are ok
}

func (c *jobCohort) add(j records.Job, cut bool, window records.Window) {
	c.cohort.add(asRequest(j), cut, window)
	if cut || j.Outcome != records.OK {
		return
	}
	c.ok++
	c.requests += j.Requests
	if c.stages == nil {
		c.stages = map[string]int64{}
	}
	for _, s := range j.Stages {
		c.stages[s.Name] += s.Ns
	}
}

// mean divides by the number of ok jobs.
func (c *jobCohort) mean(sum int64) float64 { return float64(sum) / float64(max(1, c.ok)) }
