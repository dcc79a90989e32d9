package faults

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/internal/testneeds"
	"piecebench/internal/uml"
	"piecebench/lab/labtest"
)

// What the test in User-Mode Linux gets from the one outside: an installation and a
// dataset. Inside nothing is built, and the machine's files are read-only.
const installVariable, dataVariable = "CLOCK_INSTALL", "CLOCK_DATA"

// The clock that is set is that of User-Mode Linux: the machine's is everybody's.
func TestAClockThatIsSetRefusesTheCellOnly(t *testing.T) {
	testneeds.OtherKernel(t)
	install, data := labtest.Install(t, "piecebench", "k6"), labtest.Dataset(t)
	run := uml.Run(t, "^TestTheClockIsSetInUML$", installVariable+"="+install, dataVariable+"="+data)
	t.Log(run.Text)
	if !run.Passed() {
		t.Error("the test in User-Mode Linux failed:", run.Err)
	}
}

// A sweep of two cells: an hour is taken from the clock in the window of the second.
func TestTheClockIsSetInUML(t *testing.T) {
	if !uml.Inside() {
		t.Skip("SKIPPED: it sets the clock; TestAClockThatIsSetRefusesTheCellOnly runs it in User-Mode Linux")
	}
	install, data := os.Getenv(installVariable), os.Getenv(dataVariable)
	server := httptest.NewServer(http.StripPrefix("/piece/", http.FileServer(http.Dir(filepath.Join(data, "flat")))))
	defer server.Close()
	b := &bed{t: t, dir: filepath.Join(t.TempDir(), "run")}
	sweep := func(environment string, args ...string) {
		b.said.Reset()
		b.cmd = exec.Command(filepath.Join(install, "bin", "piecebench"), append([]string{"run", "--targets", "mine=" + server.URL + "/piece/{piece}", "--links", "none",
			"--modes", "64KiB", "--concurrency", "2,", "--repeat", "2", "--duration", "5s", "--warmup", "500ms", "--manifest", filepath.Join(data, "pieces.json")}, args...)...)
		b.cmd.Env = append(os.Environ(), environment)
		b.cmd.Stdout, b.cmd.Stderr = &b.said, &b.said
		if err := b.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		b.exited = make(chan error, 1)
		go func() { b.exited <- b.cmd.Wait() }()
	}
	sweep("RESUME=", "--out", b.dir)
	b.awaitMoment(2, Window)
	back := unix.NsecToTimeval(time.Now().Add(-time.Hour).UnixNano())
	if err := unix.Settimeofday(&back); err != nil {
		t.Fatal(err)
	}
	if err := <-b.exited; err == nil || !strings.Contains(b.said.String(), "this machine's clock was set by -1h0m") {
		t.Errorf("%v:\n%s", err, b.said.String())
	}
	first := b.load()
	if len(first.Cells) != 1 {
		t.Fatalf("%d cells count, want the one that was finished before", len(first.Cells))
	}
	before := fingerprint(t, b.dir, first.Cells[0])
	sweep("RESUME=" + b.dir)
	if err := <-b.exited; err != nil {
		t.Fatalf("RESUME: %v\n%s", err, b.said.String())
	}
	if run := b.load(); len(run.Cells) != 2 || run.Finished == nil || fingerprint(t, b.dir, run.Cells[0]) != before {
		t.Errorf("%d cells after RESUME, finished %v", len(run.Cells), run.Finished)
	}
}
