package runner_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/pflag"

	"piecebench/bench/result"
	"piecebench/bench/runner"
	"piecebench/bench/settings"
	"piecebench/internal/contained"
	"piecebench/internal/fakek6"
	"piecebench/lab/labtest"
	"piecebench/netem/client"
	"piecebench/report/export"
)

// install holds k6, built once.
var install string

func TestMain(m *testing.M) {
	fakek6.Main()
	os.Exit(contained.Run(func() int {
		root, err := os.MkdirTemp("", "runner-test-")
		if err == nil {
			defer os.RemoveAll(root)
			install, err = root, labtest.InstallInto(root, "k6")
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		defer proxied()()
		return m.Run()
	}))
}

// throughProxy counts the requests that a proxy gets which the environment names.
var throughProxy atomic.Int64

// proxied sets the environment: Go reads it once, and uses the proxy for no address
// of the loopback.
func proxied() (stop func()) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		throughProxy.Add(1)
		w.WriteHeader(http.StatusBadGateway)
	}))
	for _, name := range []string{"HTTP_PROXY", "http_proxy"} {
		os.Setenv(name, proxy.URL)
	}
	return proxy.Close
}

func TestATargetIsNotAskedThroughAProxy(t *testing.T) {
	b := newBed(t)
	b.target = "mine=http://piecebench.invalid/piece/{piece}"
	if err := b.sweep(); err == nil || !strings.Contains(err.Error(), "does not answer") || throughProxy.Load() != 0 {
		t.Errorf("%v, and %d requests through the proxy", err, throughProxy.Load())
	}
}

// bed is a server of pieces, and what a sweep over it needs.
type bed struct {
	t       *testing.T
	options runner.Options
	target  string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	data := labtest.Dataset(t)
	server := httptest.NewServer(http.StripPrefix("/piece/", http.FileServer(http.Dir(filepath.Join(data, "flat")))))
	t.Cleanup(server.Close)
	return &bed{t, runner.Options{
		Manifest: filepath.Join(data, "pieces.json"),
		Out:      filepath.Join(t.TempDir(), "run"),
		K6:       filepath.Join(install, "bin", "k6"),
		Scripts:  filepath.Join(install, "k6", "scripts"),
		Progress: t.Output(),
		Report:   export.Write,
	}, "mine=" + server.URL + "/piece/{piece}"}
}

// sweep runs a sweep of one cell, unless the arguments say another.
func (b *bed) sweep(arguments ...string) error {
	b.t.Helper()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	settings.AddFlags(flags)
	if err := flags.Parse(append([]string{"--targets", b.target, "--links", "none", "--modes", "64KiB", "--concurrency", "3,",
		"--duration", "1s", "--warmup", "200ms"}, arguments...)); err != nil {
		b.t.Fatal(err)
	}
	s, err := settings.Load(flags)
	if err != nil {
		b.t.Fatal(err)
	}
	return runner.Run(b.t.Context(), s, b.options)
}

func (b *bed) load() *result.Run {
	b.t.Helper()
	run, err := result.Load(b.options.Out)
	if err != nil {
		b.t.Fatal(err)
	}
	return run
}

// edit is a line of such a script: it changes a number of the cell.
func edit(field, value string) string {
	return `CELL=$(echo "$CELL" | sed 's/"` + field + `":[0-9]*/"` + field + `":` + value + `/')`
}

// wrapK6 puts a shell script in k6's place, in which $K6 is the real one.
func (b *bed) wrapK6(script string) {
	b.t.Helper()
	wrapped := filepath.Join(b.t.TempDir(), "k6")
	if err := os.WriteFile(wrapped, []byte("#!/bin/sh\nK6="+b.options.K6+"\n"+script+"\n"), 0o755); err != nil {
		b.t.Fatal(err)
	}
	b.options.K6 = wrapped
}

func TestNothingOutsideChangesWhatTheGeneratorRuns(t *testing.T) {
	b := newBed(t)
	home, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "points.json")
	for _, path := range []string{".config/k6/config.json", ".config/loadimpact/k6/config.json"} {
		path = filepath.Join(home, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(`{"rps": 1, "vus": 1, "duration": "300ms"}`), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"HOME": home, "K6_VUS": "1", "K6_RPS": "1", "K6_DURATION": "300ms", "K6_OUT": "json=" + elsewhere, "K6_CONFIG": filepath.Join(home, ".config/k6/config.json"),
		"K6_INCLUDE_SYSTEM_ENV_VARS": "false", "K6_NO_CONNECTION_REUSE": "true", "K6_HOSTS": "{}", "CONCURRENCY": "", "REQUESTS": "",
		"GOMAXPROCS": "1", "GOGC": "1", "GOMEMLIMIT": "1MiB", "GODEBUG": "gctrace=1",
		"HTTP_PROXY": "http://127.0.0.1:1", "http_proxy": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1",
	} {
		t.Setenv(name, value)
	}
	if err := b.sweep(); err != nil {
		t.Fatal(err)
	}
	c := b.load().Cells[0]
	ran := c.Evidence.Ran
	if ran.Clients != 3 || ran.WindowS != 1 || ran.WarmupS != 0.2 || ran.Requests < 100 {
		t.Errorf("the generator ran %+v, not 3 clients for 1 s after 0.2 s, at full speed", *ran)
	}
	if c.RequestsFailed() > 0 {
		t.Error(c.FirstErrors)
	}
	if _, err := os.Stat(elsewhere); err == nil {
		t.Error("k6 wrote its points where the environment says")
	}
	if log, _ := os.ReadFile(filepath.Join(b.options.Out, "logs", "001-mine-none-64KiB-3-r1.k6.log")); len(log) > 0 {
		t.Errorf("k6 said:\n%s", log)
	}
}

func TestACellThatRanSomethingElseIsRefused(t *testing.T) {
	for _, c := range []struct{ options, duration, says string }{
		{"K6_VUS=1 K6_DURATION=1200ms", "1s", "clients that made a request: 1, not 3"},
		{edit("duration_ns", "900000000"), "1s", "window: 900ms, not 1s"},
		{edit("warmup_ns", "100000000"), "1s", "warm-up: 100ms, not 200ms"},
		{"K6_VUS=3 K6_DURATION=1s", "10s", ", not 10s"}, // which a busy machine ends later
	} {
		b := newBed(t)
		b.wrapK6(c.options + ` exec "$K6" "$@"`)
		if err := b.sweep("--duration", c.duration); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want an error that says %q", c.options, err, c.says)
		}
		run := b.load()
		records, _ := filepath.Glob(filepath.Join(b.options.Out, "requests", "*"))
		aside, _ := filepath.Glob(filepath.Join(b.options.Out, "unfinished", "*.parquet.1"))
		if len(run.Cells) != 0 || len(records) != 0 || len(aside) != 1 {
			left, _ := filepath.Glob(filepath.Join(b.options.Out, "*", "*"))
			t.Errorf("%s: %d cells, records %v, set aside %v of %v", c.options, len(run.Cells), records, aside, left)
		}
	}
}

func TestRequestsOfEachClientAreCounted(t *testing.T) {
	b := newBed(t)
	if err := b.sweep("--requests", "4", "--warmup", "0s", "--duration", "30s"); err != nil {
		t.Fatal(err)
	}
	if ran := b.load().Cells[0].Evidence.Ran; ran.Requests != 12 || ran.WindowS >= 30 {
		t.Errorf("%+v, want 12 requests, and the window's end with the last", *ran)
	}
	b.options.Out += "2"
	b.wrapK6(edit("requests", "2") + ` exec "$K6" "$@"`)
	if err := b.sweep("--requests", "4", "--warmup", "0s", "--duration", "30s"); err == nil || !strings.Contains(err.Error(), "requests: 6, not 12") {
		t.Error(err)
	}
}

func TestTheLogThatAnErrorNamesIsThere(t *testing.T) {
	b := newBed(t)
	b.wrapK6("echo what went wrong >&2; exit 3")
	err := b.sweep()
	if err == nil || !strings.Contains(err.Error(), "what went wrong") {
		t.Fatal(err)
	}
	log := regexp.MustCompile(`\(([^()]*\.k6\.log)\)`).FindStringSubmatch(err.Error())
	if log == nil {
		t.Fatalf("no log in %q", err)
	}
	if text, err := os.ReadFile(log[1]); err != nil || !strings.Contains(string(text), "what went wrong") {
		t.Errorf("%q, %v", text, err)
	}
}

func TestRecordsThatAreNotCompleteAreNoCell(t *testing.T) {
	for what, script := range map[string]string{
		"killed, and said to be fine": `"$K6" "$@" & sleep 1; kill -9 $!; exit 0`,
		"without a scenario":          "exit 0",
	} {
		b := newBed(t)
		b.wrapK6(script)
		if err := b.sweep(); err == nil || !strings.Contains(err.Error(), "complete") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// resumable makes a run of two cells, of which the second fails the first time.
func resumable(t *testing.T) *bed {
	t.Helper()
	b := newBed(t)
	real := b.options.K6
	b.wrapK6(`case "$CELL" in *'"clients":5,'*) echo not yet >&2; exit 3;; esac; exec "$K6" "$@"`)
	if err := b.sweep("--concurrency", "3,5"); err == nil {
		t.Fatal("the second cell did not fail")
	}
	b.options.K6, b.options.Resume = real, true
	return b
}

func TestResumeCompletesAndKeepsWhatThereIs(t *testing.T) {
	b := resumable(t)
	records := filepath.Join(b.options.Out, b.load().Cells[0].Records)
	before, err := os.ReadFile(records)
	if err != nil {
		t.Fatal(err)
	}
	// What a kill and a power cut may leave of the second cell.
	for _, name := range []string{"requests/002-mine-none-64KiB-5-r1.parquet", "requests/.002-mine-none-64KiB-5-r1.parquet123", "requests/002-mine-none-64KiB-5-r1.parquet.unfinished"} {
		if err := os.WriteFile(filepath.Join(b.options.Out, name), []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.sweep("--concurrency", "3,5"); err != nil {
		t.Fatal(err)
	}
	after, _ := os.ReadFile(records)
	if run := b.load(); len(run.Cells) != 2 || run.Finished == nil || !bytes.Equal(before, after) {
		t.Errorf("%d cells, finished %v; the first one's records are the same: %v", len(run.Cells), run.Finished, bytes.Equal(before, after))
	}
	for _, name := range []string{"002-mine-none-64KiB-5-r1.parquet.1", ".002-mine-none-64KiB-5-r1.parquet123.1", "002-mine-none-64KiB-5-r1.parquet.unfinished.1", "002-mine-none-64KiB-5-r1.k6.log.1"} {
		if _, err := os.Stat(filepath.Join(b.options.Out, "unfinished", name)); err != nil {
			t.Error("deleted:", err)
		}
	}
}

func TestResumeRefusesAnotherDatasetMachineOrVersion(t *testing.T) {
	b := resumable(t)
	run := b.load()
	for _, key := range []string{"dataset", "cpu", "kernel", "revision", "k6"} {
		run.Fingerprint[key] = "that " + key
	}
	delete(run.Fingerprint, "cpus")
	if err := run.Save(b.options.Out); err != nil {
		t.Fatal(err)
	}
	before := files(t, b.options.Out)
	err := b.sweep("--concurrency", "3,5", "--verify", "1")
	for _, want := range []string{`dataset: "that dataset" then, "pieces.json sha256 `, `cpu: "that cpu" then`, `kernel: "that kernel"`, `revision: "that revision"`, `k6: "that k6"`,
		`cpus: nothing known then, "`, `VERIFY: "0.05" then, "1" now`, "measure again"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
	if after := files(t, b.options.Out); after != before {
		t.Errorf("a refused RESUME changed the run:\n%s\nbefore:\n%s", after, before)
	}
}

func TestResumeWithOtherPricesIsTheSameRun(t *testing.T) {
	b := resumable(t)
	if err := b.sweep("--concurrency", "3,5", "--price-egress", "0.01"); err != nil {
		t.Error(err)
	}
}

func TestOneRunIsWrittenByOneProcess(t *testing.T) {
	b := resumable(t)
	unlock, err := result.Lock(b.options.Out)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if err := b.sweep("--concurrency", "3,5"); err == nil || !strings.Contains(err.Error(), "another piecebench") {
		t.Error(err)
	}
}

func TestAResumeThatFailsErasesNothing(t *testing.T) {
	b := resumable(t)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			http.Error(w, "no link today", http.StatusInternalServerError)
			return
		}
		fmt.Fprintf(w, `{"backend": %q}`, client.Kernel)
	}))
	defer agent.Close()
	b.options.Agent = agent.URL
	run := b.load()
	capacity := []result.StreamsCapacity{{Streams: 8, GoodputBits: 1e9}}
	run.Calibrations = []result.Calibration{{Link: "none", Backend: client.Kernel, CeilingBits: 1e9, Unshaped: capacity, Through: capacity}}
	run.Generator = &result.Generator{Clients: 8, CeilingBits: 2e9}
	for _, cells := range [][]result.Cell{run.Cells, nil} {
		run.Cells = cells
		if err := run.Save(b.options.Out); err != nil {
			t.Fatal(err)
		}
		if err := b.sweep("--concurrency", "3,5"); err == nil || !strings.Contains(err.Error(), "no link today") {
			t.Fatal(err)
		}
		now := b.load()
		if len(now.Calibrations) != 1 || now.Generator == nil || len(now.Cells) != len(cells) {
			t.Errorf("left: %d calibrations, generator %v, %d cells; want 1, one and %d", len(now.Calibrations), now.Generator, len(now.Cells), len(cells))
		}
	}
}

// files lists a folder's files and what they hold.
func files(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	if err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			var data []byte
			data, err = os.ReadFile(path)
			fmt.Fprintf(&all, "%s %x\n", path, data)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all.String()
}
