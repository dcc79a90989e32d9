package export

import (
	"piecebench/bench/result"
	"piecebench/report"
	"piecebench/report/page"
)

// HTML is a page with charts that needs no network.
type HTML struct{}

func (HTML) Name() string                                    { return "html" }
func (HTML) File() string                                    { return "report.html" }
func (HTML) Run(dir string, run *result.Run) ([]byte, error) { return page.Run(dir, run) }
func (HTML) Comparison(d report.Document) ([]byte, error)    { return page.Document(d) }
