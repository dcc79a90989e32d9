package export

import (
	"piecebench/bench/result"
	"piecebench/report"
	"piecebench/report/text"
)

// Text is a summary for a terminal.
type Text struct{ Width int } // in characters

func (Text) Name() string { return "text" }
func (Text) File() string { return "" }
func (t Text) Run(_ string, run *result.Run) ([]byte, error) {
	return []byte(text.Run(run, t.Width)), nil
}
func (t Text) Comparison(d report.Document) ([]byte, error) {
	return []byte(text.Document(d, t.Width)), nil
}
