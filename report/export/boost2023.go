package export

import (
	"piecebench/bench/result"
	"piecebench/report/boost2023"
	"piecebench/report/markdown"
)

// Boost2023 is the table of the Boost team's study of 2023, as Markdown.
type Boost2023 struct{}

func (Boost2023) Name() string { return "boost-2023" }
func (Boost2023) File() string { return "boost-2023.md" }
func (Boost2023) Run(dir string, run *result.Run) ([]byte, error) {
	d, err := boost2023.Document(dir, run)
	return []byte(markdown.Document(d)), err
}
