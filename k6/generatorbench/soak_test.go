package generatorbench

import (
	"bufio"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"piecebench/internal/direct"
	"piecebench/records"
)

var soak = flag.Duration("soak", 0, "how long BenchmarkSoak downloads (1m or more: the first seconds are start-up)")

// sample is what a process holds.
type sample struct{ residentMB, descriptors, goroutines float64 }

// look asks the system, and k6 at its address api.
func look(pid int, api string) (s sample, err error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return s, err
	}
	status, err := p.NewStatus()
	if err != nil {
		return s, err
	}
	descriptors, err := p.FileDescriptorsLen()
	if err != nil {
		return s, err
	}
	s.residentMB, s.descriptors = float64(status.VmRSS)/1e6, float64(descriptors)
	client := http.Client{Transport: direct.Transport()}
	resp, err := client.Get("http://" + api + "/debug/pprof/goroutine?debug=1")
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err == nil {
		_, err = fmt.Sscanf(line, "goroutine profile: total %g", &s.goroutines)
	}
	return s, err
}

// BenchmarkSoak downloads 1 MiB ranges with many clients for a long time: no request fails,
// and k6 holds neither too much, nor more at the end than at the start. Run it with
//
//	go test ./k6/generatorbench -run - -bench Soak -benchtime 1x -timeout 0 -soak 10m
func BenchmarkSoak(t *testing.B) {
	if *soak == 0 {
		t.Skip("it runs for as long as -soak says, such as -soak 10m")
	}
	b := newBench(t)
	before := drops(t)
	api := freeAddress(t)
	cmd := b.retrievalCommand(task{length: mib}, manyClients, *soak, "--address", api, "--profiling-enabled")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var seen []sample
	for running := true; running; {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("k6: %v: %s", err, &stderr)
			}
			running = false
		case <-time.After(max(*soak/20, time.Second)):
			if s, err := look(cmd.Process.Pid, api); err == nil { // else it is starting or ending
				seen = append(seen, s)
				t.Logf("%+v", s)
			}
		}
	}
	if len(seen) < 8 {
		t.Fatalf("only %d samples: use a longer -soak", len(seen))
	}
	checkGrowth(t, seen[1:len(seen)-1]) // without start-up and end
	if peak := peakMB(cmd); peak > maxResident {
		t.Errorf("%.0f MB resident at most, more than %d", peak, maxResident)
	}
	checkOutcomes(t, b.path("requests.parquet"))
	t.Logf("segments dropped by this machine's kernel, short of TCP memory (net.ipv4.tcp_mem): %.0f", drops(t)-before)
}

// checkGrowth compares the last quarter of the samples with the first. What k6 holds
// may be more by garbage not yet collected, and by the descriptors of a flush.
func checkGrowth(t testing.TB, seen []sample) {
	first, last := seen[:len(seen)/4], seen[len(seen)-len(seen)/4:]
	for _, bound := range []struct {
		name string
		of   func(sample) float64
		most float64
	}{
		{"resident MB", func(s sample) float64 { return s.residentMB }, 30},
		{"descriptors", func(s sample) float64 { return s.descriptors }, 10},
		{"goroutines", func(s sample) float64 { return s.goroutines }, 50},
	} {
		mean := func(samples []sample) (sum float64) {
			for _, s := range samples {
				sum += bound.of(s) / float64(len(samples))
			}
			return sum
		}
		if grown := mean(last) - mean(first); grown > bound.most {
			t.Errorf("%s: %.0f more at the end than at the start, which is more than %.0f", bound.name, grown, bound.most)
		}
	}
}

// checkOutcomes counts the records of the run by outcome and error text.
func checkOutcomes(t testing.TB, path string) {
	r, err := records.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for row, err := range r.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		counts[strings.TrimSuffix(string(row.Outcome)+": "+row.Error, ": ")]++
		if row.Outcome != records.OK && row.Outcome != records.Cut {
			t.Fail()
		}
	}
	t.Logf("requests by outcome: %v", counts)
}

// drops counts the segments that the kernel did not queue for want of memory.
// It holds what nginx has sent and k6 has not read: up to 1 GiB here. After
// several drops a connection can be silent for longer than the stall timeout.
func drops(t testing.TB) float64 {
	self, err := procfs.Self()
	if err != nil {
		t.Fatal(err)
	}
	stat, err := self.Netstat()
	if err != nil {
		t.Fatal(err)
	}
	if stat.TCPRcvQDrop == nil { // older kernels do not count them
		return 0
	}
	return *stat.TCPRcvQDrop
}
