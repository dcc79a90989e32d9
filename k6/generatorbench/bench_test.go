// Package generatorbench measures the load generator itself: what receiving a gigabyte
// costs k6's own http.get, curl, and the retrieval extension, from the same nginx on
// this machine. Run it with `make bench-generator`; it takes about seven minutes.
//
// CPU time is the operating system's, user and system, of the whole process, start-up
// included. The contenders take turns; a figure is the median of the turns.
package generatorbench

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"piecebench/internal/contained"
	"piecebench/piece/bytesize"
)

func TestMain(m *testing.M) { os.Exit(contained.Run(m.Run)) }

const (
	mib = 1 << 20

	fewClients = 8
	duration   = 4 * time.Second // of one turn

	// The clients of the memory checks, and what k6 may hold with them, in MB of 1e6 bytes.
	manyClients = 1000
	maxResident = 250
)

// task is what all contenders do.
type task struct {
	length  int64
	https   bool
	checked bool
}

func (t task) String() string {
	s := bytesize.String(t.length)
	if t.https {
		s += "-https"
	}
	if t.checked {
		s += "-checked"
	}
	return s
}

// contenders, and whether they can check what they receive.
var contenders = []struct {
	name   string
	checks bool
	run    func(*bench, task) (cost, error)
}{
	{"http.get", false, (*bench).stock},
	{"curl", false, (*bench).curl},
	{"retrieval", true, func(b *bench, t task) (cost, error) { return b.retrieval(t, fewClients, duration) }},
}

// BenchmarkReceive fails where the extension needs more than its target.
func BenchmarkReceive(b *testing.B) {
	shared := newBench(b)
	for _, c := range []struct {
		task
		most   float64 // CPU-seconds per GB of the extension; 0: none
		ofHTTP float64 // the same, as a share of http.get's
	}{
		{task: task{length: 1 * mib}, ofHTTP: 0.5},
		{task: task{length: 10 * mib}, most: 0.12},
		{task: task{length: 100 * mib}, most: 0.12},
		{task: task{length: 10 * mib, checked: true}, most: 0.60},
		{task: task{length: 10 * mib, https: true}, ofHTTP: 1},
	} {
		b.Run(c.String(), func(b *testing.B) {
			costs := map[string][]cost{}
			for b.Loop() {
				for _, contender := range contenders {
					if c.checked && !contender.checks {
						continue
					}
					cost, err := contender.run(shared, c.task)
					if err != nil {
						b.Fatalf("%s: %v", contender.name, err)
					}
					costs[contender.name] = append(costs[contender.name], cost)
				}
			}
			b.ReportMetric(0, "ns/op") // says nothing here
			for name, of := range costs {
				b.ReportMetric(median(of, cost.perGB), name+"-CPU-s/GB")
			}
			ours := costs["retrieval"]
			b.ReportMetric(median(ours, func(c cost) float64 { return float64(c.bytes) / 1e9 / c.elapsed }), "GB/s")
			most := c.most
			if c.ofHTTP > 0 {
				most = c.ofHTTP * median(costs["http.get"], cost.perGB)
			}
			if got := median(ours, cost.perGB); got > most {
				b.Errorf("the extension needs %.3f CPU-seconds per GB, more than %.3f", got, most)
			}
		})
	}
}

// BenchmarkMemory measures the peak of the resident memory with many clients. TLS has
// no target: it holds some 40 KB a connection for its records.
func BenchmarkMemory(b *testing.B) {
	shared := newBench(b)
	for _, t := range []task{{length: mib}, {length: mib, checked: true}, {length: mib, https: true}} {
		b.Run(t.String(), func(b *testing.B) {
			var peak float64
			for b.Loop() {
				c, err := shared.retrieval(t, manyClients, 2*duration)
				if err != nil {
					b.Fatal(err)
				}
				peak = max(peak, c.peakMB)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(peak, "MB-resident")
			if peak > maxResident && !t.https {
				b.Errorf("%.0f MB, more than %d", peak, maxResident)
			}
		})
	}
}

// cost is what one turn took.
type cost struct {
	cpu     float64 // seconds
	bytes   int64
	elapsed float64 // seconds
	peakMB  float64 // resident, at most
}

func (c cost) perGB() float64 { return c.cpu / (float64(c.bytes) / 1e9) }

func median(costs []cost, of func(cost) float64) float64 {
	v := make([]float64, len(costs))
	for i, c := range costs {
		v[i] = of(c)
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// measure runs a command to its end, and returns what it wrote to stdout.
func measure(cmd *exec.Cmd) (c cost, stdout string, err error) {
	start := time.Now()
	out, err := cmd.Output()
	if err != nil {
		if failed, ok := err.(*exec.ExitError); ok {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		return c, "", err
	}
	return cost{
		elapsed: time.Since(start).Seconds(),
		cpu:     (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(),
		peakMB:  peakMB(cmd),
	}, strings.TrimSpace(string(out)), nil
}

// peakMB is the most that cmd, which has ended, was resident with.
func peakMB(cmd *exec.Cmd) float64 {
	return float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) * 1024 / 1e6
}
