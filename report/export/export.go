// Package export knows every format of a report. Each format has a file of its own.
package export

import (
	"fmt"
	"path/filepath"
	"strings"

	"piecebench/bench/result"
	"piecebench/internal/wholefile"
	"piecebench/report"
)

// Exporter writes the report of a run in one format.
type Exporter interface {
	Name() string // for --format
	File() string // its name in the run's folder; empty for a format that is printed
	Run(dir string, run *result.Run) ([]byte, error)
}

// Comparer is an Exporter that also writes comparisons.
type Comparer interface {
	Exporter
	Comparison(report.Document) ([]byte, error)
}

// Exporters are all formats. Text is wrapped at width characters.
func Exporters(width int) []Exporter {
	return []Exporter{HTML{}, Markdown{}, Boost2023{}, Text{width}}
}

// Comparers are the formats of comparisons.
func Comparers(width int) []Comparer {
	return []Comparer{Text{width}, Markdown{}, HTML{}}
}

// Named returns the exporter with a name.
func Named[E Exporter](all []E, name string) (E, error) {
	for _, e := range all {
		if e.Name() == name {
			return e, nil
		}
	}
	return *new(E), fmt.Errorf("format %q is not known: use %s", name, Names(all))
}

// Names lists exporters: "html, md or text".
func Names[E Exporter](all []E) string {
	var names []string
	for _, e := range all {
		names = append(names, e.Name())
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
	_, err = Save(dir, run, HTML{}, Markdown{})
	return err
}

// Save writes reports into the run's folder, and returns the paths of their files.
func Save(dir string, run *result.Run, exporters ...Exporter) (paths []string, err error) {
	for _, e := range exporters {
		data, err := e.Run(dir, run)
		if err != nil {
			return paths, err
		}
		path := filepath.Join(dir, e.File())
		if err := wholefile.Write(path, data, 0o644); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}
