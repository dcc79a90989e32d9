package retrieval

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"sync"
	"time"

	"github.com/grafana/sobek"

	"piecebench/internal/plain"
	"piecebench/records"
)

// job is a running job. The methods of a nil one do nothing: requests may belong to none.
type job struct {
	start    time.Time
	requests sync.WaitGroup // batches that run

	mu   sync.Mutex
	row  records.Job
	line timeline
}

func (c *client) newJob() *job {
	now := time.Now()
	j := &job{start: now, line: timeline{start: c.config.WindowStart, end: c.config.WindowEnd, at: now}}
	j.row.Number, j.row.Client, j.row.StartUnixNs = c.cell.jobNumber.Add(1), int32(c.number), c.config.Wall(now)
	return j
}

// join and leave tell that a batch of requests of the job begins and ends.
func (j *job) join() {
	if j != nil {
		j.requests.Add(1)
	}
}

func (j *job) leave() {
	if j != nil {
		j.requests.Done()
	}
}

// begin and end tell when a stage runs.
func (j *job) begin(stage string) { j.change(stage, 1) }
func (j *job) end(stage string)   { j.change(stage, -1) }

// stages returns how many different ones there are so far.
func (j *job) stages() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.line.stages)
}

func (j *job) change(stage string, by int) {
	if j == nil {
		return
	}
	j.mu.Lock()
	j.line.change(stage, by, time.Now())
	j.mu.Unlock()
}

// add counts a request that has ended.
func (j *job) add(r *records.Request) {
	if j == nil {
		return
	}
	r.Job = j.row.Number
	j.mu.Lock()
	j.row.Requests++
	j.row.Bytes += r.Bytes
	j.mu.Unlock()
	if r.Outcome != records.OK && r.Outcome != records.Cut {
		j.fail(string(r.Outcome) + ": " + r.Error)
	}
}

// fail makes it a failed job, for the first reason that is given.
func (j *job) fail(reason string) {
	if j == nil {
		return
	}
	j.mu.Lock()
	if j.row.Outcome == "" {
		j.row.Outcome, j.row.Error = records.Failed, plain.Line(reason)
	}
	j.mu.Unlock()
}

// runJob runs a function of the script as a job. A job ends when its function has
// returned and its requests have ended.
func (c *client) runJob(ctx context.Context, call sobek.FunctionCall) (sobek.Value, error) {
	fn, ok := sobek.AssertFunction(call.Argument(0))
	if !ok {
		return nil, errors.New("the argument is not a function")
	}
	if c.job != nil {
		return nil, errors.New("a job cannot start inside another one: use stage() for a part of it")
	}
	c.awaitTurn(ctx)
	if c.over(ctx) {
		awaitEnd(ctx)
		return sobek.Undefined(), nil
	}
	c.ask()
	j := c.newJob()
	c.job = j
	value, err := fn(sobek.Undefined())
	c.job = nil
	if err == nil {
		err = notAsync(value)
	}
	j.requests.Wait()
	if err != nil {
		j.fail(c.reason(err))
	}
	c.finish(ctx, j)
	return value, err
}

// finish records a job that has ended.
func (c *client) finish(ctx context.Context, j *job) {
	now := time.Now()
	j.line.advance(now)
	row := &j.row
	switch {
	case ctx.Err() != nil || c.config.Over(now):
		row.Outcome, row.Error = records.Cut, ""
	case row.Outcome == "":
		row.Outcome = records.OK
	}
	row.DurationNs = int64(j.line.clip(now).Sub(j.start))
	row.WindowNs = int64(j.line.inside(j.start, now))
	row.OverlapWindowNs = j.line.overlap
	for _, s := range j.line.stages {
		row.Stages = append(row.Stages, s.Stage)
	}
	if c.cell.jobs != nil {
		c.cell.jobs.Add(row)
	}
	if row.Outcome != records.Cut {
		tags := c.state.Tags.GetCurrentValues()
		c.state.Samples <- c.cell.jobMetrics.samples(tags, now, row)
	}
}

// stageName is what a stage may be called: the name stands in tables and tags.
var stageName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// maxStages is how many stages a job may have. Each is a time series of k6.
const maxStages = 20

// runStage runs a function of the script as a stage of the running job.
func (c *client) runStage(_ context.Context, call sobek.FunctionCall) (sobek.Value, error) {
	name := call.Argument(0).String()
	fn, ok := sobek.AssertFunction(call.Argument(1))
	j := c.job
	switch {
	case j == nil:
		return nil, fmt.Errorf("stage %s is not inside a job: call it in the function that job() runs", plain.Line(name))
	case !stageName.MatchString(name) || name == records.Download:
		return nil, fmt.Errorf("a stage cannot be called %s: use up to 40 letters, digits, _ and -, and not %s, which is the stage of the requests", plain.Line(name), records.Download)
	case !ok:
		return nil, fmt.Errorf("stage %s: the second argument is not a function", name)
	}
	j.begin(name)
	value, err := fn(sobek.Undefined())
	j.end(name)
	if err == nil {
		err = notAsync(value)
	}
	if j.stages() > maxStages {
		err = errors.Join(err, fmt.Errorf("a job has more than %d stages, the last one %s: use the same name for the same work", maxStages, name))
	}
	return value, err
}

// notAsync refuses what an async function returns.
func notAsync(returned sobek.Value) error {
	if o, ok := returned.(*sobek.Object); ok && o.ExportType() == reflect.TypeFor[*sobek.Promise]() {
		return errors.New("the function is async: leave async out, since get(), batch() and wait() wait by themselves")
	}
	return nil
}

// reason is what a script's error says, without its stack, which names folders.
func (c *client) reason(err error) string {
	var thrown *sobek.Exception
	var interrupted *sobek.InterruptedError
	switch {
	case errors.As(err, &thrown):
		var text string
		if c.vu.Runtime().Try(func() { text = thrown.Value().String() }) != nil { // which may throw, too
			return "the script threw an error that cannot be shown"
		}
		return text
	case errors.As(err, &interrupted):
		return fmt.Sprint(interrupted.Value())
	}
	return err.Error()
}
