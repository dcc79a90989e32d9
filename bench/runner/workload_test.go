package runner_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
