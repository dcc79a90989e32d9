package report_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"piecebench/bench/result"
	"piecebench/internal/contained"
	"piecebench/report/export"
	"piecebench/report/page"
)

// largeRun writes a run of 500 cells and a million requests into a new folder.
func largeRun(t testing.TB) (dir string) {
	run := synthetic(sweep{
		targets: []string{"a", "b", "c", "d", "e"}, links: []string{"1gbit/40ms", "10gbit/40ms", "1gbit/5ms", "10gbit/5ms", "1gbit/80ms"},
		modes: []string{"full", "1MiB", "10MiB", "100MiB", "64MiB"}, concurrency: []int{1, 10, 100, 1000}, repeat: 1})
	if len(run.Cells) != 500 {
		t.Fatalf("%d cells", len(run.Cells))
	}
	dir = filepath.Join(t.TempDir(), "large")
	writeRecords(t, dir, run, 2000)
	if err := run.Save(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// reportOf names the folder whose report the test binary makes as a child, in
// order to be measured as a process of its own.
const reportOf = "PIECEBENCH_TEST_REPORT_OF"

func TestMain(m *testing.M) {
	if dir := os.Getenv(reportOf); dir != "" {
		if err := export.Write(dir); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(contained.Run(m.Run))
}

func TestAReportOfAMillionRequestsIsSmallAndTakesLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: the report of a million requests is NOT tested: -short")
	}
	needLibrary(t)
	dir := largeRun(t)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), reportOf+"="+dir)
	started := time.Now()
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	memory := child.ProcessState.SysUsage().(*syscall.Rusage).Maxrss * 1024
	html, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("500 cells, 1,000,000 requests: %.1f s, %d MB of memory, report.html %.2f MB", time.Since(started).Seconds(), memory/1e6, float64(len(html))/1e6)
	if memory > 1e9 {
		t.Errorf("it took %d MB of memory, more than 1 GB", memory/1e6)
	}
	if len(html) > 5e6 {
		t.Errorf("report.html has %d bytes, more than 5 MB", len(html))
	}
	// Each cell is in the heat maps of four targets, twice, and has a row of the
	// table of requests and one of what decided.
	text := ours(t, string(html))
	if n := strings.Count(text, `<a class="row"`); n != 4*2*100 {
		t.Errorf("the heat maps have %d cells, want 800", n)
	}
	if n := strings.Count(text, `"duration":{"steps":[[`); n != 500 {
		t.Errorf("%d cells have the distribution of their durations, want 500", n)
	}
	decided := regexp.MustCompile(`(?s)What limited each row.*?</table>`).FindString(text)
	if n := strings.Count(decided, "<tr>"); n != 501 {
		t.Errorf("%d rows say what decided, want 500 and their head", n)
	}
}

func BenchmarkReportOfAMillionRequests(b *testing.B) {
	dir := largeRun(b)
	run, err := result.Load(dir)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := page.Run(dir, run); err != nil {
			b.Fatal(err)
		}
	}
}
