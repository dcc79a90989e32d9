package runner_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piecebench/records"
)

// own makes retrieval.js a script of one's own, with a line before it.
func (b *bed) own(line string) (path string) {
	b.t.Helper()
	path = filepath.Join(b.t.TempDir(), "mine.js")
	text, err := os.ReadFile(filepath.Join(b.options.Scripts, "retrieval.js"))
	if err == nil {
		here := strings.Replace(string(text), "./lib/", filepath.Join(b.options.Scripts, "lib")+"/", 1)
		err = os.WriteFile(path, []byte(line+"\n"+here), 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return path
}

func TestAScriptOfOnesOwnGetsItsModeParametersAndScratchFolder(t *testing.T) {
	b := newBed(t)
	script := b.own("")
	b.wrapK6(`mkdir -p "` + b.options.Out + `/seen" && echo "$CELL" >"` + b.options.Out + `/seen/cell"; for last in "$@"; do :; done
echo "$last" >"` + b.options.Out + `/seen/script"; touch "` + b.options.Out + `/scratch/left"; exec "$K6" "$@"`)
	b.target += ",mine=http://127.0.0.1:1/o/{object}"
	if err := b.sweep("--workload", script, "--modes", "packed", "--parameters", "blocks=3,order=random"); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(b.options.Out, "seen", name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	c, err := records.ParseCell(read("cell"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Mode != "packed" || c.Parameters["blocks"] != "3" || c.Parameters["order"] != "random" || c.ObjectURL != "http://127.0.0.1:1/o/{object}" || read("script") != script {
		t.Errorf("%s got %+v", read("script"), c)
	}
	if c.JobsPath != filepath.Join(b.options.Out, "jobs", "001-mine-none-packed-3-r1.parquet") {
		t.Errorf("jobs are to be recorded in %s", c.JobsPath)
	}
	if _, err := os.Stat(c.Scratch); c.Scratch == "" || !os.IsNotExist(err) {
		t.Errorf("scratch folder %q is left: %v", c.Scratch, err)
	}
	run := b.load()
	if run.Settings["WORKLOAD"] != "mine.js" || !strings.HasPrefix(run.Fingerprint["workload"], "mine.js sha256 ") || strings.Contains(run.Settings["TARGETS"], "***") {
		t.Errorf("settings %v, fingerprint %v", run.Settings, run.Fingerprint)
	}
}

// documented writes the script of docs/WORKLOADS.md, with what it imports beside it and a
// line at the end of its job.
func (b *bed) documented(line string) (path string) {
	b.t.Helper()
	path = filepath.Join(b.t.TempDir(), "blocks.js")
	page, err := os.ReadFile("../../docs/WORKLOADS.md")
	_, script, found := strings.Cut(string(page), "\n```js\n")
	script, _, whole := strings.Cut(script, "  });\n}\n```\n")
	if !found || !whole {
		b.t.Fatal("docs/WORKLOADS.md has no script")
	}
	lib, libErr := os.ReadFile(filepath.Join(b.options.Scripts, "lib", "cell.js"))
	err = errors.Join(err, libErr)
	for name, text := range map[string]string{path: script + line + "\n  });\n}\n", filepath.Join(filepath.Dir(path), "lib", "cell.js"): string(lib)} {
		err = errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644))
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return path
}

func TestJobsOfAScriptOfOnesOwnFromTheirRecordsToTheReport(t *testing.T) {
	b := newBed(t)
	if err := b.sweep("--workload", b.documented(""), "--modes", "stored", "--parameters", "blocks=2", "--requests", "2", "--warmup", "0s", "--duration", "60s"); err != nil {
		t.Fatal(err)
	}
	c := b.load().Cells[0]
	j := c.Jobs
	if j == nil || j.OK != 6 || j.Requests != 2 || j.Duration.P100 == nil || j.Duration.P50.Ms > j.Duration.P100.Ms || c.RequestsFailed() > 0 {
		t.Fatalf("jobs %+v, errors %q", j, c.FirstErrors)
	}
	var stages []string
	sum := j.Other - j.Overlap
	for _, s := range j.Stages {
		stages = append(stages, s.Name)
		sum += s.Share
	}
	if diff := cmp.Diff([]string{"download", "verify", "store"}, stages); diff != "" || math.Abs(sum-1) > 1e-6 || j.Share("verify") <= 0 {
		t.Errorf("stages %+v, with %v outside of them: %v, %s", j.Stages, j.Other, sum, diff)
	}
	if c.Fairness == nil || *c.Fairness < 1.0/3-1e-9 || *c.Fairness > 1+1e-9 {
		t.Errorf("fairness %v", c.Fairness)
	}
	// Each request says which job it is of.
	requests, err := records.Open(filepath.Join(b.options.Out, c.Records))
	if err != nil {
		t.Fatal(err)
	}
	of := map[int64]int64{}
	for r, err := range requests.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		of[r.Job]++
	}
	jobs, err := records.OpenJobs(filepath.Join(b.options.Out, j.Records))
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range jobs.Rows() {
		if err != nil || of[row.Number] != row.Requests || row.WindowNs > row.DurationNs {
			t.Errorf("job %d has %d requests in their records: %+v, %v", row.Number, of[row.Number], row, err)
		}
	}
	report, err := os.ReadFile(filepath.Join(b.options.Out, "report.md"))
	if err != nil || !strings.Contains(string(report), "mine’s median job took ") {
		t.Errorf("%v in\n%s", err, report)
	}
}

func TestJobsOfEachClientAreCountedAndTheirErrorsKept(t *testing.T) {
	b := newBed(t)
	if err := b.sweep("--workload", b.documented("throw new Error('on purpose');"), "--parameters", "blocks=1", "--requests", "2", "--warmup", "0s", "--duration", "30s"); err != nil {
		t.Fatal(err)
	}
	c := b.load().Cells[0]
	if j := c.Jobs; j == nil || j.Failed != 6 || j.OK != 0 || c.Evidence.Ran.Jobs != 6 || c.WindowS >= 30 || c.RequestsOK != 6 ||
		len(j.FirstErrors) != 1 || !strings.Contains(j.FirstErrors[0], "on purpose") {
		t.Errorf("%+v, ran %+v in %v s", j, c.Evidence.Ran, c.WindowS)
	}
}

func TestResumeRefusesAnotherScript(t *testing.T) {
	b := newBed(t)
	real := b.options.K6
	script := b.own("")
	b.wrapK6(`case "$CELL" in *'"clients":5,'*) exit 3;; esac; exec "$K6" "$@"`)
	if err := b.sweep("--concurrency", "3,5", "--workload", script); err == nil {
		t.Fatal("the second cell did not fail")
	}
	b.options.K6, b.options.Resume = real, true
	for _, c := range []struct{ workload, says string }{
		{b.own("// changed"), `workload: "mine.js sha256 `},
		{"retrieval", `WORKLOAD: "mine.js" then, "retrieval" now`},
	} {
		if err := b.sweep("--concurrency", "3,5", "--workload", c.workload); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.workload, err)
		}
	}
	if err := b.sweep("--concurrency", "3,5", "--workload", script); err != nil || len(b.load().Cells) != 2 {
		t.Errorf("the same script: %v", err)
	}
}
