package retrieval_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"piecebench/records"
)

// example returns the script of docs/WORKLOADS.md that downloads ahead.
func example(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/WORKLOADS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?ms)^```js\n(.*?)^```$").FindAllSubmatch(page, -1) {
		if script := string(block[1]); strings.Contains(script, "client.start(") {
			return script
		}
	}
	t.Fatal("docs/WORKLOADS.md has no example with client.start")
	return ""
}

func TestTheExampleOfTheGuideRuns(t *testing.T) {
	c := newCell(t, nil)
	scripts, err := filepath.Abs("../../scripts")
	if err != nil {
		t.Fatal(err)
	}
	c.runs(t, "")
	text := strings.Replace(example(t), "./lib/", scripts+"/lib/", 1)
	if err := os.WriteFile(c.script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c.does.Clients, c.does.Requests, c.does.Warmup, c.does.Duration, c.does.Verify = 3, 2, 0, time.Minute, 0
	c.does.Parameters, c.does.Scratch = map[string]string{"blocks": "5"}, t.TempDir()
	c.run(t)

	jobs, window := c.jobs(t)
	rows, _ := c.rows(t)
	if len(jobs) != 3*2 || len(rows) != 3*2*15 {
		t.Fatalf("%d jobs with %d requests, want 6 with 90", len(jobs), len(rows))
	}
	requests := map[int64]int64{}
	for _, r := range rows {
		requests[r.Job]++
	}
	for _, j := range jobs {
		var names []string
		var sum int64
		for _, s := range j.Stages {
			names = append(names, s.Name)
			sum += s.WindowNs
			if s.Ns <= 0 || s.Ns > j.DurationNs {
				t.Errorf("job %d: %+v", j.Number, s)
			}
		}
		if j.Outcome != records.OK || j.Requests != 15 || requests[j.Number] != 15 || j.Bytes != 15*64<<10 || strings.Join(names, " ") != "download verify apply store" {
			t.Errorf("%+v", j)
		}
		if j.StartUnixNs < window.StartNs || j.StartUnixNs+j.DurationNs > window.EndNs || j.WindowNs != j.DurationNs || sum-j.OverlapWindowNs > j.WindowNs {
			t.Errorf("job %+v is not in its window %+v, or its stages take longer than it", j, window)
		}
	}
	stored, err := filepath.Glob(filepath.Join(c.does.Scratch, "client-*"))
	if err != nil || len(stored) != 3 {
		t.Error(stored, err)
	}

	count := map[string]int{}
	sum := map[string]float64{}
	for _, p := range c.readPoints(t) {
		name := p.Metric + " " + p.Data.Tags["stage"]
		count[name]++
		sum[name] += p.Data.Value
		if p.Metric == "jobs" && (p.Data.Tags["outcome"] != "ok" || p.Data.Tags["target"] != "raw") {
			t.Errorf("tags %v", p.Data.Tags)
		}
	}
	if sum["jobs "] != 6 || count["job_duration "] != 6 || count["stage_duration apply"] != 6 || sum["stage_duration apply"] < 6*3*5*0.9 {
		t.Errorf("k6's metrics: %v, %v", count, sum)
	}
}

// Jobs that the window closes on are recorded, with the stages that they had until then.
func TestJobsAreCutWithTheWindow(t *testing.T) {
	c := newCell(t, slowly)
	c.runs(t, "export default function () {\n client.job(() => { client.stage('work', () => compute(20)); client.get({ piece: 0 }).body.x }) }")
	c.does.Verify = 0
	c.run(t)
	jobs, window := c.jobs(t)
	rows, _ := c.rows(t)
	if len(jobs) != 5 || len(rows) != 5 {
		t.Fatalf("%d jobs, %d requests; want one of each client", len(jobs), len(rows))
	}
	for _, j := range jobs {
		end := j.StartUnixNs + j.DurationNs
		if j.Outcome != records.Cut || j.Requests != 1 || j.Bytes == 0 || end != window.EndNs || j.WindowNs != min(j.DurationNs, window.EndNs-window.StartNs) || len(j.Stages) != 2 {
			t.Errorf("%+v, window %+v", j, window)
		}
	}
	if said := c.stderr.String(); strings.Contains(said, "level=error") {
		t.Errorf("k6 says %s", said)
	}
}

// A script can have a client that never asks for anything.
func TestAScriptWithoutRequestsEnds(t *testing.T) {
	c := newCell(t, nil)
	c.runs(t, "export default function () { compute(1) }")
	c.does.Warmup, c.does.Duration, c.does.Clients = 0, time.Second, 1
	cmd := c.command(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hung := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer hung.Stop()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, c.stderr.String())
	}
}

func TestK6NamesTheLineOfAMistake(t *testing.T) {
	for script, want := range map[string]string{
		"export default function () {\n client.get({ piece: 9 }) }":                                     "mine.js:3:",
		"\nclient.get()\nexport default function () {}":                                                 "get() can only be called in a scenario's function",
		"export default function () {}\nexport function setup() { client.get() }":                       "mine.js:3:",
		"export default function () { client.job(() => {\n throw new Error('boom') }); client.get(1) }": "Error: boom\\n\\tat file:",
	} {
		c := newCell(t, nil)
		c.does.Clients, c.does.Warmup, c.does.Duration, c.does.Requests = 1, 0, time.Minute, 1
		c.runs(t, script)
		_ = c.command(t).Run()
		if said := c.stderr.String(); !strings.Contains(said, want) || !strings.Contains(said, "mine.js:3:") || strings.Count(said, "\n") != 1 {
			t.Errorf("%s: %s; want %q", script, said, want)
		}
	}
}
