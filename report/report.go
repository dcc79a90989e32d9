// Package report turns a run's folder into what people read: report.html,
// report.md and the summary on the terminal. Reports hold nothing that is not
// in the folder, and the same folder gives the same bytes.
package report

import (
	"fmt"
	"path/filepath"
	"slices"

	"piecebench/bench/result"
	"piecebench/internal/wholefile"
)

// format is one way to write a report.
type format struct {
	name, file string
	make       func(dir string, run *result.Run) ([]byte, error)
}

var formats = []format{
	{"html", "report.html", HTML},
	{"md", "report.md", func(_ string, run *result.Run) ([]byte, error) { return []byte(Markdown(run)), nil }},
	{"svg", "report.svg", func(_ string, run *result.Run) ([]byte, error) { return Picture(run) }},
	{"boost-2023", "boost-2023.md", Boost2023},
}

// Write makes report.html and report.md, or makes them anew, in a run's folder.
func Write(dir string) error {
	run, err := result.Load(dir)
	if err != nil {
		return err
	}
	_, err = WriteFormats(dir, run, "html", "md")
	return err
}

// WriteFormats writes the named formats (html, md, svg, boost-2023) into the run's folder
// and returns the paths of the files.
func WriteFormats(dir string, run *result.Run, names ...string) (paths []string, err error) {
	for _, name := range names {
		i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
		if i < 0 {
			return paths, fmt.Errorf("report format %q is not known: use html, md, svg, boost-2023 or text", name)
		}
		data, err := formats[i].make(dir, run)
		if err != nil {
			return paths, err
		}
		path := filepath.Join(dir, formats[i].file)
		if err := wholefile.Write(path, data, 0o644); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}
