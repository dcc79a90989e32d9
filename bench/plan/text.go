package plan

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"piecebench/bench/settings"
	"piecebench/bench/workload"
)

// Write prints the sweep's outlook: a row a cell, and what all take together.
func Write(w io.Writer, s settings.Settings) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	unit := workload.Of(s.Workload).Unit()
	fmt.Fprintf(table, "cell\ttarget\tlink\tmode\tclients\tideal %s\tat most\t\n", unit)
	var bytes float64
	var needs time.Duration
	short := 0
	outlooks := Outlooks(s)
	for _, o := range outlooks {
		ideal, most, remark := "-", "-", ""
		if o.Ideal > 0 {
			ideal = rounded(o.Ideal).String()
		}
		if o.MostBytes > 0 {
			most = humanize.Bytes(uint64(o.MostBytes))
		}
		if o.SlowStartDominates() {
			remark = fmt.Sprintf("slow start: %s", rounded(o.SlowStart))
		}
		if o.Needs > 0 {
			remark = fmt.Sprintf("needs DURATION=%s", o.Needs)
			short++
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", o.ID, o.Target.Name, o.Link, o.Mode.Name, o.Concurrency, ideal, most, remark)
		bytes += o.MostBytes
		needs = max(needs, o.Needs)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d cells, about %s", len(outlooks), Roughly(ExpectedTime(s)))
	if bytes > 0 {
		fmt.Fprintf(w, ", at most %s over links that have a rate", humanize.Bytes(uint64(bytes)))
	}
	fmt.Fprintln(w)
	if short > 0 {
		longer := s
		longer.Duration = needs
		fmt.Fprintf(w, "No %s fits into the window of %d of %d cells: they show goodput, and of durations only bounds. DURATION=%s is enough for all, and the sweep then takes about %s.\n",
			unit, short, len(outlooks), needs, Roughly(ExpectedTime(longer)))
	}
	return nil
}

// rounded leaves a time as many digits as a person reads.
func rounded(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// Roughly writes an expectation: to the minute, where it is that long.
func Roughly(d time.Duration) string {
	if d < time.Minute {
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}
