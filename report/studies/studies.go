// Package studies gives results in the tables of the studies that the workloads scan and
// batch are from, beside the studies' own figures.
package studies

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"piecebench/bench/readable"
	"piecebench/bench/result"
	"piecebench/bench/settings"
	"piecebench/bench/stats"
	"piecebench/records"
	"piecebench/report"
)

// check refuses a run of another workload than the study's.
func check(run *result.Run, want string) error {
	if got := settings.WorkloadOf(run.Settings); got != want {
		return fmt.Errorf("this table is of WORKLOAD=%s, and run %s is of WORKLOAD=%s", want, run.ID, got)
	}
	return nil
}

// jobsOf reads the jobs of a cell, in the run's folder dir.
func jobsOf(dir string, c result.Cell, each func(records.Job, records.Window)) error {
	if c.Jobs == nil || !filepath.IsLocal(c.Jobs.Records) { // a run may come from somebody else
		return fmt.Errorf("cell %d has no records of jobs in the run's folder: this table is made from them", c.ID)
	}
	recorded, err := records.OpenJobs(filepath.Join(dir, c.Jobs.Records))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cell %d: the records of its jobs are not in the run's folder: this table is made from them: %w", c.ID, err)
	}
	if err != nil {
		return fmt.Errorf("cell %d: %w", c.ID, err)
	}
	for job, err := range recorded.Rows() {
		if err != nil {
			return fmt.Errorf("cell %d: %w", c.ID, err)
		}
		each(job, recorded.Window())
	}
	return nil
}

// seconds writes a quantile in seconds.
func seconds(s *stats.Survival, share float64) string {
	value, bound, ok := s.Quantile(share)
	switch {
	case !ok:
		return report.Missing
	case bound:
		return "> " + readable.ThreeDigits(value)
	}
	return readable.ThreeDigits(value)
}
