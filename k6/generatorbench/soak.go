package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/procfs"

	"piecebench/records"
)

// bounds say by how much what k6 holds may be more in the last quarter of a
// soak than in the first: garbage not yet collected, descriptors of a flush.
var bounds = []struct {
	name string
	of   func(sample) float64
	most float64
}{
	{"resident MB", func(s sample) float64 { return s.residentMB }, 30},
	{"descriptors", func(s sample) float64 { return float64(s.descriptors) }, 10},
	{"goroutines", func(s sample) float64 { return float64(s.goroutines) }, 50},
}

// watch downloads 1 MiB ranges with many clients for a long time. It returns
// errMissed when a request failed, or when k6 held too much, or more at the
// end than at the start.
func (b *bench) watch(d time.Duration) error {
	api, err := freeAddress()
	if err != nil {
		return err
	}
	dropsBefore, err := drops()
	if err != nil {
		return err
	}
	var seen []sample
	start := time.Now()
	fmt.Printf("%d clients, 1 MiB ranges, %s\n\n%8s %12s %12s %12s\n", manyClients, d, "seconds", "resident MB", "descriptors", "goroutines")
	cmd := b.retrievalCommand(task{length: mib}, manyClients, d, api)
	err = b.during(cmd, max(d/20, time.Second), api, func(s sample) {
		seen = append(seen, s)
		fmt.Printf("%8.0f %12.0f %12d %12d\n", time.Since(start).Seconds(), s.residentMB, s.descriptors, s.goroutines)
	})
	if err != nil {
		return err
	}
	if len(seen) < 8 {
		return fmt.Errorf("only %d samples: use a longer -soak", len(seen))
	}
	seen = seen[1 : len(seen)-1] // without start-up and end
	peak := peakMB(cmd)
	fmt.Printf("\nresident MB at most %.0f, %s\n", peak, verdict(peak, maxResident, "%.0f"))
	grown := printGrowth(seen) || peak > maxResident
	failed, err := b.printOutcomes()
	if err != nil {
		return err
	}
	dropsAfter, err := drops()
	if err != nil {
		return err
	}
	fmt.Printf("%10.0f  segments dropped by this machine's kernel, short of TCP memory (net.ipv4.tcp_mem)\n", dropsAfter-dropsBefore)
	if grown || failed {
		return errMissed
	}
	return nil
}

// printGrowth compares the last quarter of the samples with the first.
func printGrowth(seen []sample) (grown bool) {
	quarter := len(seen) / 4
	for _, bound := range bounds {
		before, after := mean(seen[:quarter], bound.of), mean(seen[len(seen)-quarter:], bound.of)
		fmt.Printf("%s %.0f, at the end %.0f, %s\n", bound.name, before, after, verdict(after, before+bound.most, "%.0f"))
		grown = grown || after > before+bound.most
	}
	return grown
}

func mean(samples []sample, of func(sample) float64) float64 {
	sum := 0.0
	for _, s := range samples {
		sum += of(s)
	}
	return sum / float64(len(samples))
}

// printOutcomes counts the records of the run by outcome and error text.
func (b *bench) printOutcomes() (failed bool, err error) {
	r, err := records.Open(b.path("requests.parquet"))
	if err != nil {
		return false, err
	}
	counts, received := make(map[string]int), int64(0)
	for row, err := range r.Rows() {
		if err != nil {
			return false, err
		}
		text := string(row.Outcome)
		if row.Error != "" {
			text += ": " + row.Error
		}
		counts[text]++
		failed = failed || row.Outcome != records.OK && row.Outcome != records.Cut
		received += row.Bytes
	}
	fmt.Printf("\n%.2f TB received. Requests by outcome:\n", float64(received)/1e12)
	for _, text := range slices.Sorted(maps.Keys(counts)) {
		fmt.Printf("%10d  %s\n", counts[text], text)
	}
	return failed, nil
}

// drops counts the segments that the kernel did not queue for want of memory.
// It holds what nginx has sent and k6 has not read: up to 1 GiB here. After
// several drops a connection can be silent for longer than the stall timeout.
func drops() (float64, error) {
	self, err := procfs.Self()
	if err != nil {
		return 0, err
	}
	stat, err := self.Netstat()
	if err != nil || stat.TCPRcvQDrop == nil { // older kernels do not count them
		return 0, err
	}
	return *stat.TCPRcvQDrop, nil
}
