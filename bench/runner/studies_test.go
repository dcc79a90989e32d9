package runner_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"piecebench/bench/result"
	"piecebench/bench/workload"
	"piecebench/records"
)

// stageNames returns the stages of a cell's jobs, which must all have succeeded.
func stageNames(t *testing.T, c result.Cell) (names []string) {
	t.Helper()
	if c.Jobs == nil || c.Jobs.OK == 0 || c.Jobs.Failed > 0 {
		t.Fatalf("%s: %+v", c.Mode, c.Jobs)
	}
	for _, s := range c.Jobs.Stages {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}

// sensors is a server of a scan's data, and has scans of it run.
func (b *bed) sensors(wrap func(http.Handler) http.Handler) error {
	b.t.Helper()
	const scale = "1e-6" // one site, one frame, 70 sensors
	parameters, data := map[string]string{"SCALE": scale}, b.t.TempDir()
	if err := workload.Of(workload.Scan).Data(b.t.Context(), data, []string{"files", "packed"}, parameters, 1, b.t.Output()); err != nil {
		b.t.Fatal(err)
	}
	server := httptest.NewServer(wrap(http.StripPrefix("/object/", http.FileServer(http.Dir(filepath.Join(data, "objects"))))))
	b.t.Cleanup(server.Close)
	b.target = "mine=" + server.URL + "/object/{object}"
	return b.sweep("--workload", "scan", "--modes", "files,packed", "--scale", scale, "--compute", "10us", "--parallel", "2")
}

func TestAScanReadsTheSameVectorsInBothLayouts(t *testing.T) {
	b := newBed(t)
	if err := b.sensors(func(h http.Handler) http.Handler { return h }); err != nil {
		t.Fatal(err)
	}
	for i, c := range b.load().Cells {
		if got := strings.Join(stageNames(t, c), " "); got != "compute decode download" {
			t.Errorf("%s: stages %s", c.Mode, got)
		}
		// A packed file's index is one more.
		if want := float64(5 + i); c.Jobs.Requests != want {
			t.Errorf("%s: %g requests in a scan, want %g", c.Mode, c.Jobs.Requests, want)
		}
	}
}

func TestAScanOfWrongBytesFails(t *testing.T) {
	b := newBed(t)
	err := b.sensors(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(spoiler{w}, r) })
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range b.load().Cells {
		if c.Jobs == nil || c.Jobs.OK > 0 || c.Jobs.Failed == 0 || c.Failed[records.Corrupt] == 0 {
			t.Errorf("%s: %+v, %v", c.Mode, c.Jobs, c.Failed)
		}
	}
}

// spoiler changes a byte of everything that is as long as a part of a vector.
type spoiler struct{ http.ResponseWriter }

func (s spoiler) Write(p []byte) (int, error) {
	if len(p) > 4096 {
		p = slices.Clone(p)
		p[4000]++
	}
	return s.ResponseWriter.Write(p)
}

func TestABatchIsVerifiedAppliedAndAnnounced(t *testing.T) {
	b := newBed(t)
	// 100 blocks are more than a piece has.
	if err := b.sweep("--workload", "batch", "--modes", "7,1000", "--requests", "1", "--warmup", "0s", "--duration", "1m", "--concurrency", "2,",
		"--blocks", "100", "--block-size", "100KiB", "--validate", "100us", "--notify", "100us", "--pipeline", "yes", "--sync", "yes"); err != nil {
		t.Fatal(err)
	}
	for _, c := range b.load().Cells {
		if got := strings.Join(stageNames(t, c), " "); got != "apply download notify verify" {
			t.Errorf("%s: stages %s", c.Mode, got)
		}
		if c.Jobs.OK != 2 || c.DeliveredBytes != 2*100*100<<10 {
			t.Errorf("%s: %d synchronizations, %d bytes", c.Mode, c.Jobs.OK, c.DeliveredBytes)
		}
		if pipelined := c.Jobs.Overlap > 0; pipelined != (c.Mode == "7") {
			t.Errorf("%s: overlap %g", c.Mode, c.Jobs.Overlap)
		}
	}
}

func TestABatchOfWrongBytesFails(t *testing.T) {
	b := newBed(t)
	files := http.StripPrefix("/piece/", http.FileServer(http.Dir(filepath.Join(filepath.Dir(b.options.Manifest), "flat"))))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { files.ServeHTTP(spoiler{w}, r) }))
	defer server.Close()
	b.target = "mine=" + server.URL + "/piece/{piece}"
	if err := b.sweep("--workload", "batch", "--modes", "10", "--requests", "1", "--warmup", "0s", "--duration", "1m", "--concurrency", "1,", "--blocks", "20"); err != nil {
		t.Fatal(err)
	}
	c := b.load().Cells[0]
	if c.Jobs == nil || c.Jobs.Failed != 1 || !strings.Contains(strings.Join(c.Jobs.FirstErrors, " "), "verify") {
		t.Errorf("%+v", c.Jobs)
	}
}
