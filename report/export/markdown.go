package export

import (
	"piecebench/bench/result"
	"piecebench/report"
	"piecebench/report/markdown"
)

// Markdown is text with tables, to paste into an issue.
type Markdown struct{}

func (Markdown) Name() string                                  { return "md" }
func (Markdown) File() string                                  { return "report.md" }
func (Markdown) Run(_ string, run *result.Run) ([]byte, error) { return []byte(markdown.Run(run)), nil }
func (Markdown) Comparison(d report.Document) ([]byte, error) {
	return []byte(markdown.Document(d)), nil
}
