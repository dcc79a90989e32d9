package studies

import (
	"fmt"
	"strconv"

	"piecebench/bench/readable"
	"piecebench/bench/result"
	"piecebench/bench/workload"
	"piecebench/records"
	"piecebench/report"
)

// batchStages are the stages of the study of Sia's synchronization, in its order.
var batchStages = []struct{ name, title string }{
	{records.Download, "Downloading blocks (s)"}, {"verify", "Validating (s)"}, {"apply", "Applying (s)"}, {"notify", "Notifying subscribers (s)"},
}

// Batch has the table of the study of Sia's blockchain synchronization of 2018: seconds per
// stage, for each test, their average and its percentages. It is made from the records of
// the jobs in dir.
func Batch(dir string, run *result.Run) (report.Document, error) {
	d := report.Document{Title: run.ID + ": the table of the study of Sia’s synchronization of 2018", Terms: batchTerms, Elsewhere: "the records of the jobs"}
	if err := check(run, workload.Batch); err != nil {
		return d, err
	}
	for _, l := range report.NewView(run).Links {
		for _, f := range report.All(l.Rows) {
			t := report.Table{Head: []report.Column{report.Left("Test")}}
			for _, stage := range batchStages {
				t.Head = append(t.Head, report.Right(stage.title))
			}
			t.Head = append(t.Head, report.Right("Everything else (s)"), report.Right("Overlap (s)"), report.Right("Total time (s)"))
			var all syncs
			for _, c := range f.Cells {
				var one syncs
				if err := jobsOf(dir, c, func(j records.Job, _ records.Window) { one.add(j) }); err != nil {
					return d, err
				}
				t.Add(one.line(fmt.Sprint("Test ", c.Repetition))...)
				all.merge(one)
			}
			t.Add(all.line("Average (s)")...)
			t.Add(all.percent("Average (%)")...)
			t.Add("The study’s average (s)", "10701", "2457", "235", "3296", "1869", "", "18558")
			t.Add("The study’s average (%)", "54.91", "14.11", "1.35", "19.06", "10.57", "", "100")
			s := report.Section{Table: t}
			link, detail := l.Heading()
			s.Title = fmt.Sprintf("%s, %s blocks a batch, %s, %s", f.Target, f.Row.Mode, readable.Count(f.Row.Concurrency, "client"), link)
			s.Detail = detail
			if all.lost > 0 {
				s.Notes = []string{fmt.Sprintf("Not in these figures: %s that did not succeed.", readable.Count(all.lost, "synchronization"))}
			}
			d.Sections = append(d.Sections, s)
		}
	}
	return d, nil
}

var batchTerms = []report.Term{
	{Name: "Test", Meaning: "one repetition; with several clients, the mean of their synchronizations."},
	{Name: "Downloading blocks", Meaning: "time in which a batch was requested or received."},
	{Name: "Validating", Meaning: "every byte compared with the piece’s, and VALIDATE of CPU time for each block. Its default, and that of NOTIFY, are the study’s seconds over its 146,000 blocks."},
	{Name: "Applying", Meaning: "the batch written to a file, with SYNC=yes also to the disk."},
	{Name: "Notifying subscribers", Meaning: "NOTIFY of CPU time for each block."},
	{Name: "Everything else", Meaning: "the rest of the total time."},
	{Name: "Overlap", Meaning: "time in which two stages ran. Stages and everything else, less the overlap, add up to the total time."},
	{Name: "The study", Meaning: "three synchronizations of 146,000 blocks in batches of 10, from peers in the internet, on 250 Mbit/s. The percentages are those of its text, which do not follow from its table."},
}

// syncs are the sums of synchronizations that succeeded, in seconds.
type syncs struct {
	stages         map[string]float64
	overlap, total float64
	n, lost        int
}

func (s *syncs) add(j records.Job) {
	if j.Outcome != records.OK {
		s.lost++
		return
	}
	one := syncs{stages: map[string]float64{}, overlap: float64(j.OverlapWindowNs) / 1e9, total: float64(j.DurationNs) / 1e9, n: 1}
	for _, stage := range j.Stages {
		one.stages[stage.Name] = float64(stage.Ns) / 1e9
	}
	s.merge(one)
}

func (s *syncs) merge(o syncs) {
	if s.stages == nil {
		s.stages = map[string]float64{}
	}
	for name, v := range o.stages {
		s.stages[name] += v
	}
	s.overlap, s.total, s.n, s.lost = s.overlap+o.overlap, s.total+o.total, s.n+o.n, s.lost+o.lost
}

// values returns the stages, everything else, the overlap and the total.
func (s syncs) values() (values []float64) {
	other := s.total + s.overlap
	for _, stage := range batchStages {
		values = append(values, s.stages[stage.name])
		other -= s.stages[stage.name]
	}
	return append(values, other, s.overlap, s.total)
}

// line is the mean of the synchronizations.
func (s syncs) line(name string) []string { return s.scaled(name, 1/float64(s.n)) }

func (s syncs) percent(name string) []string { return s.scaled(name, 100/s.total) }

func (s syncs) scaled(name string, by float64) []string {
	line := []string{name}
	for _, v := range s.values() {
		if s.n == 0 {
			line = append(line, report.Missing)
		} else {
			line = append(line, strconv.FormatFloat(v*by, 'f', 2, 64))
		}
	}
	return line
}
