package settings

import (
	"fmt"
	"slices"
	"strings"

	"piecebench/internal/headerfile"
	"piecebench/internal/parse"
	"piecebench/internal/plain"
)

const headersVariable = "HEADERS"

// parseHeaders reads the files of headers of targets of one's own, @file for all or
// name=@file for one, into the targets: they must be known.
func parseHeaders(s *Settings, text string) error {
	if text == "" {
		return nil
	}
	for field := range strings.SplitSeq(text, ",") {
		name, file, named := strings.Cut(strings.TrimSpace(field), "=")
		if !named || strings.HasPrefix(name, "@") {
			name, file = "", strings.TrimSpace(field)
		}
		header, err := headerfile.Read(file)
		if err != nil {
			return err
		}
		found := false
		for i := range s.Targets {
			t := &s.Targets[i]
			if t.InLab() || name != "" && name != t.Name {
				continue
			}
			if found = true; t.Header != nil {
				return fmt.Errorf("target %s has two files of headers", t.Name)
			}
			t.Header = header
			for _, address := range []string{t.URL, t.ObjectURL} {
				if err := headerfile.CheckURL(header, address); err != nil {
					return fmt.Errorf("target %s: %w", t.Name, err)
				}
			}
		}
		if !found {
			return fmt.Errorf("no target of one's own has the name %q: see %s", plain.Clip(name, 40), TargetsVariable)
		}
	}
	return nil
}

// headersText names the targets that have headers: neither these nor where their files
// are is kept.
func headersText(targets []Target) string {
	var fields []string
	for _, t := range targets {
		if t.Header != nil {
			fields = append(fields, t.Name+"=@"+plain.Hidden)
		}
	}
	slices.Sort(fields)
	return strings.Join(fields, ",")
}

func parseInsecure(text string) (bool, error) {
	if text == "" {
		return false, nil
	}
	_, err := parse.OneOf("yes")(text)
	return err == nil, err
}
