package studies

import (
	"fmt"
	"strconv"

	"piecebench/bench/result"
	"piecebench/bench/stats"
	"piecebench/bench/workload"
	"piecebench/records"
	"piecebench/report"
)

// Scan has, for each link, the table of the study of SeaweedFS and GlusterFS of 2023: the
// times of a scan per system. It is made from the records of the jobs in dir.
func Scan(dir string, run *result.Run) (report.Document, error) {
	d := report.Document{Title: run.ID + ": the table of the study of SeaweedFS and GlusterFS of 2023", Terms: scanTerms, Elsewhere: "the records of the jobs"}
	if err := check(run, workload.Scan); err != nil {
		return d, err
	}
	for _, l := range report.NewView(run).Links {
		s := report.Section{Table: report.Table{Head: []report.Column{
			report.Left("System"), report.Left("Layout"), report.Right("Clients"), report.Right("Scans"), report.Right("Failed"), report.Right("Cut"),
			report.Right("P50 (s)"), report.Right("P90 (s)"), report.Right("P100 (s)"), report.Right("P50, first half (s)"), report.Right("P50, second half (s)"), report.Left("Limited by"),
		}}}
		s.Title, s.Detail = l.Heading()
		for _, f := range report.All(l.Rows) {
			o, err := observeScans(dir, f)
			if err != nil {
				return d, err
			}
			s.Table.Add(f.Target, f.Row.Mode, strconv.Itoa(f.Row.Concurrency), fmt.Sprint(o.jobs.OK), fmt.Sprint(o.jobs.Failed), fmt.Sprint(o.jobs.Cut),
				seconds(&o.all, 0.5), seconds(&o.all, 0.9), seconds(&o.all, 1), seconds(&o.first, 0.5), seconds(&o.second, 0.5), f.LimitedBy)
		}
		s.Table.Add("GlusterFS, in the study", "packed", "300", "", "", "", "1001", "1741", "2942", "", "", "")
		s.Table.Add("SeaweedFS, in the study", "files", "300", "", "", "", "401", "442", "521", "", "", "")
		d.Sections = append(d.Sections, s)
	}
	return d, nil
}

var scanTerms = []report.Term{
	{Name: "System", Meaning: "the target. The study had four servers with 16 cores, 192 GB of memory, six SSDs and 25 Gbit/s each; here one machine runs servers and clients, " +
		"and the data is the study’s 8.4 TB scaled by SCALE. So compare the ratios of systems, not the seconds."},
	{Name: "Layout", Meaning: "packed: one file for each site and time frame, of which a scan reads ranges. files: one file for each vector. " +
		"The study read GlusterFS packed and SeaweedFS as files only, so that system and layout could not be told apart."},
	{Name: "Scans", Meaning: "jobs that succeeded. A scan loads, decompresses and computes on one in fourteen of a site’s sensors, time frame after time frame."},
	{Name: "P50, P90, P100", Meaning: "quantiles of a scan’s time. Scans that were cut or failed are right-censored at their age (Kaplan-Meier); > marks a lower bound."},
	{Name: "First and second half", Meaning: "the median of the scans that began in this half of the window. In a steady state the two agree."},
}

// scans are the times of the scans of a cell's repetitions, in seconds.
type scans struct {
	all, first, second stats.Survival
	jobs               result.Jobs // sums of the counts
}

func observeScans(dir string, f *report.Figures) (*scans, error) {
	o := &scans{}
	for _, c := range f.Cells {
		if c.Jobs != nil {
			o.jobs.OK, o.jobs.Failed, o.jobs.Cut = o.jobs.OK+c.Jobs.OK, o.jobs.Failed+c.Jobs.Failed, o.jobs.Cut+c.Jobs.Cut
		}
		err := jobsOf(dir, c, func(j records.Job, w records.Window) {
			t, counts := c.Jobs.JobTime(j, w)
			if !counts {
				return
			}
			half := &o.first
			if j.StartUnixNs-w.StartNs >= (w.EndNs-w.StartNs)/2 {
				half = &o.second
			}
			t.Ms /= 1000
			t.AddTo(&o.all)
			t.AddTo(half)
		})
		if err != nil {
			return nil, err
		}
	}
	return o, nil
}
