// The benchmark of the load generator itself: what receiving a gigabyte costs
// k6's own http.get, curl, and the retrieval extension, from the same nginx on
// this machine. Run it with `make bench-generator`; it takes about seven minutes.
// With -soak 10m it watches instead for failures and growth, with many clients.
//
// CPU time is the operating system's, user and system, of the whole process,
// start-up included. The contenders take turns; a figure is the median of the
// repetitions. Exit code 1: a target was missed; 2: it could not run.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"piecebench/piece"
	"piecebench/piece/bytesize"
)

// settings are the command line.
type settings struct {
	k6, script, manifest string
	repeat               int
	duration, soak       time.Duration
	clients              int
}

func main() {
	var s settings
	flag.StringVar(&s.k6, "k6", "bin/k6", "k6 with the retrieval extension")
	flag.StringVar(&s.script, "script", "k6/scripts/retrieval.js", "the extension's script")
	flag.StringVar(&s.manifest, "manifest", "data/pieces.json", "dataset to serve: `pieces.json`, with flat files beside it")
	flag.IntVar(&s.repeat, "repeat", 5, "repetitions, whose median counts")
	flag.IntVar(&s.clients, "clients", 8, "parallel clients")
	flag.DurationVar(&s.duration, "duration", 4*time.Second, "of one run")
	flag.DurationVar(&s.soak, "soak", 0, "instead, download 1 MiB ranges with 1000 clients for so long (1m or more: the first seconds are start-up), and watch for failures and growth")
	flag.Parse()
	err := run(s)
	if err != nil {
		fmt.Fprintln(os.Stderr, "generatorbench:", err)
	}
	switch {
	case errors.Is(err, errMissed):
		os.Exit(1)
	case err != nil:
		os.Exit(2)
	}
}

// errMissed says that a target was missed, which the table shows.
var errMissed = errors.New("a target was missed")

// task is what all contenders do.
type task struct {
	length  int64
	https   bool
	checked bool
	target  func(stock, ours float64) (limit float64) // of ours, in CPU-seconds per GB
}

const (
	mib = 1 << 20
	gb  = 1e9
)

func atMost(limit float64) func(float64, float64) float64 {
	return func(float64, float64) float64 { return limit }
}

var tasks = []task{
	{length: 1 * mib, target: func(stock, _ float64) float64 { return stock / 2 }},
	{length: 10 * mib, target: atMost(0.12)},
	{length: 100 * mib, target: atMost(0.12)},
	{length: 10 * mib, checked: true, target: atMost(0.60)},
	{length: 10 * mib, https: true, target: func(stock, _ float64) float64 { return stock }},
}

func (t task) String() string {
	s := bytesize.String(t.length)
	if t.https {
		s += " https"
	}
	if t.checked {
		s += " checked"
	}
	return s
}

func run(s settings) error {
	m, err := piece.Load(s.manifest)
	if err != nil {
		return err
	}
	for _, p := range m.Pieces {
		if p.UnpaddedSize() < 100*mib {
			return fmt.Errorf("piece %s has %d bytes, and ranges of 100 MiB are needed: make a dataset of larger pieces", p.CID, p.UnpaddedSize())
		}
	}
	b, err := newBench(s, m)
	if err != nil {
		return err
	}
	defer b.close()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-interrupted
		b.close()
		os.Exit(130)
	}()
	if s.soak > 0 {
		return b.watch(s.soak)
	}
	missed := false
	fmt.Printf("CPU-seconds per GB received, %d clients, median of %d runs of %s\n\n", s.clients, s.repeat, s.duration)
	fmt.Printf("| %-16s | %9s | %9s | %9s | %9s | %-14s |\n", "ranges", "http.get", "curl", "retrieval", "GB/s", "target")
	fmt.Printf("|%s|%s:|%s:|%s:|%s:|%s|\n", dash(18), dash(10), dash(10), dash(10), dash(10), dash(16))
	for _, t := range tasks {
		ok, err := b.compare(t)
		if err != nil {
			return err
		}
		missed = missed || !ok
	}
	ok, err := b.resident()
	if err != nil {
		return err
	}
	if missed || !ok {
		return errMissed
	}
	return nil
}

func dash(n int) string { return strings.Repeat("-", n) }

// cost is what one run took.
type cost struct {
	cpu     float64 // seconds
	bytes   int64
	elapsed float64 // seconds
	peakMB  float64 // resident, at most
}

func (c cost) perGB() float64 { return c.cpu / (float64(c.bytes) / gb) }

// compare runs one task with each contender in turn, and prints a row.
func (b *bench) compare(t task) (ok bool, err error) {
	contenders := []func(task) (cost, error){b.stock, b.curl, b.retrieval}
	if t.checked { // nobody else can
		contenders = contenders[2:]
	}
	costs := make([][]cost, len(contenders))
	for range b.repeat {
		for i, run := range contenders {
			c, err := run(t)
			if err != nil {
				return false, fmt.Errorf("%s: %w", t, err)
			}
			costs[i] = append(costs[i], c)
		}
	}
	cells := make([]string, 0, 3)
	medians := make([]float64, 3)
	for i, c := range costs {
		medians[3-len(costs)+i] = median(c, cost.perGB)
	}
	for _, m := range medians {
		if m == 0 {
			cells = append(cells, "-")
		} else {
			cells = append(cells, fmt.Sprintf("%.3f", m))
		}
	}
	speed := median(costs[len(costs)-1], func(c cost) float64 { return float64(c.bytes) / gb / c.elapsed })
	limit := t.target(medians[0], medians[2])
	fmt.Printf("| %-16s | %9s | %9s | %9s | %9.2f | %-14s |\n", t, cells[0], cells[1], cells[2], speed, verdict(medians[2], limit, "%.3f"))
	return medians[2] <= limit, nil
}

func median(costs []cost, of func(cost) float64) float64 {
	v := make([]float64, len(costs))
	for i, c := range costs {
		v[i] = of(c)
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func verdict(got, limit float64, format string) string {
	word := "ok"
	if got > limit {
		word = "MISSED"
	}
	return fmt.Sprintf("<= "+format+" "+word, limit)
}
