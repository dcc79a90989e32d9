// Package export knows every format of a report.
package export

import (
	"fmt"
	"path/filepath"
	"strings"

	"piecebench/bench/result"
	"piecebench/internal/wholefile"
	"piecebench/report"
	"piecebench/report/boost2023"
	"piecebench/report/markdown"
	"piecebench/report/page"
	"piecebench/report/studies"
	"piecebench/report/text"
)

// Format is one form of a report.
type Format struct {
	Name       string // for --format
	File       string // in the run's folder; empty for a format that is printed
	Run        func(dir string, run *result.Run) ([]byte, error)
	Comparison func(report.Document) ([]byte, error) // nil where there is none
}

var (
	// HTML is a page with charts that needs no network.
	HTML = Format{"html", "report.html", page.Run, page.Document}

	// Markdown is text with tables, to paste into an issue.
	Markdown = Format{"md", "report.md",
		func(_ string, run *result.Run) ([]byte, error) { return []byte(markdown.Run(run)), nil },
		func(d report.Document) ([]byte, error) { return []byte(markdown.Document(d)), nil },
	}

	// The tables of the studies that workloads are from, as Markdown.
	Boost2023     = study("boost-2023", boost2023.Document)
	SeaweedFS2023 = study("seaweedfs-2023", studies.Scan)
	Sia2018       = study("sia-2018", studies.Batch)
)

func study(name string, document func(string, *result.Run) (report.Document, error)) Format {
	return Format{name, name + ".md", func(dir string, run *result.Run) ([]byte, error) {
		d, err := document(dir, run)
		return []byte(markdown.Document(d)), err
	}, nil}
}

// Text is a summary for a terminal, wrapped at width characters.
func Text(width int) Format {
	return Format{"text", "",
		func(_ string, run *result.Run) ([]byte, error) { return []byte(text.Run(run, width)), nil },
		func(d report.Document) ([]byte, error) { return []byte(text.Document(d, width)), nil },
	}
}

// OfRuns are the formats of a run's report.
func OfRuns(width int) []Format {
	return []Format{HTML, Markdown, Boost2023, SeaweedFS2023, Sia2018, Text(width)}
}

// OfComparisons are the formats of comparisons.
func OfComparisons(width int) []Format { return []Format{Text(width), Markdown, HTML} }

// Named returns the format with a name.
func Named(all []Format, name string) (Format, error) {
	for _, f := range all {
		if f.Name == name {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("format %q is not known: use %s", name, Names(all))
}

// Names lists formats: "html, md or text".
func Names(all []Format) string {
	var names []string
	for _, f := range all {
		names = append(names, f.Name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Write loads the run in dir, and writes the reports that every run has.
func Write(dir string) error {
	run, err := result.Load(dir)
	if err != nil {
		return err
	}
	_, err = Save(dir, run, HTML, Markdown)
	return err
}

// Save writes reports into the run's folder, and returns the paths of their files.
func Save(dir string, run *result.Run, formats ...Format) (paths []string, err error) {
	for _, f := range formats {
		data, err := f.Run(dir, run)
		if err != nil {
			return paths, err
		}
		path := filepath.Join(dir, f.File)
		if err := wholefile.Write(path, data, 0o644); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}
