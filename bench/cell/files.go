package cell

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"piecebench/bench/plan"
	"piecebench/bench/result"
	"piecebench/bench/workload"
)

// files are what one cell writes.
type files struct {
	dir            string // the run's
	requests, jobs string // records, relative to dir; no jobs where the workload has none
	logs           string // path of its logs, without what their names end with
	scratch        string // folder for the script, removed after the cell; empty without jobs
}

// What the names of a cell's logs end with: k6's output, and its counters.
const (
	k6Log       = ".k6.log"
	progressLog = ".progress.jsonl"
)

// files names a cell's files.
func (s Setup) files(c plan.Cell) files {
	name := fileName(c)
	f := files{dir: s.Dir, requests: filepath.Join("requests", name+".parquet"), logs: filepath.Join(s.Dir, "logs", name)}
	if workload.Of(s.Settings.Workload).Jobs {
		f.jobs, f.scratch = filepath.Join("jobs", name+".parquet"), filepath.Join(s.Dir, "scratch")
	}
	return f
}

// path returns the path of a file of the run, empty for none.
func (f files) path(name string) string {
	if name == "" {
		return ""
	}
	return filepath.Join(f.dir, name)
}

// folders are those of the run that hold records of cells.
func (f files) folders() []string {
	if f.jobs == "" {
		return []string{"requests"}
	}
	return []string{"requests", "jobs"}
}

// prepare makes the folders of a cell with jobs. What a killed attempt left in scratch
// goes.
func (f files) prepare() error {
	if f.jobs == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(f.dir, "jobs"), 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(f.scratch); err != nil {
		return err
	}
	return os.Mkdir(f.scratch, 0o755)
}

// clear removes what is not to be kept.
func (f files) clear() error {
	if f.scratch == "" {
		return nil
	}
	return os.RemoveAll(f.scratch)
}

// SetAside sets aside the records of a cell that is not to be counted.
func (s Setup) SetAside(c plan.Cell) error {
	return result.SetAside(s.Dir, fileName(c), s.files(c).folders()...)
}

// fileName names a cell's files: 007-gateway-1gbit_40ms-10MiB-100-r1.
func fileName(c plan.Cell) string {
	l := strings.NewReplacer("/", "_", "%", "pct").Replace(c.Link.String())
	return fmt.Sprintf("%03d-%s-%s-%s-%d-r%d", c.ID, c.Target.Name, l, c.Mode.Name, c.Concurrency, c.Repetition)
}
