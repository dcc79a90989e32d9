package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"piecebench/internal/wholefile"
)

// RunFile is the name of a run's JSON file in its folder.
const RunFile = "run.json"

// NewID returns the name of a run: when it started, in UTC, and on which
// host, such as 20260301T174500Z-sp1.
func NewID(started time.Time, host string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.', r == '_':
			return r
		}
		return '-'
	}, host)
	return started.UTC().Format("20060102T150405Z") + "-" + safe
}

// Create makes the folder root/id of a new run, with its sub-folders requests
// and logs, and returns its path. It never takes a folder that exists:
// results are not overwritten.
func Create(root, id string) (dir string, err error) {
	if id == "" || id != filepath.Base(id) || id == "." || id == ".." {
		return "", fmt.Errorf("%q cannot be the name of a run's folder", id)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", fmt.Errorf("results folder: %w", err)
	}
	dir = filepath.Join(root, id)
	if err := wholefile.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%s exists already, and results are never overwritten: name another folder", dir)
	} else if err != nil {
		return "", fmt.Errorf("results folder: %w", err)
	}
	for _, sub := range []string{"requests", "logs"} {
		if err := wholefile.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			return "", fmt.Errorf("results folder: %w", err)
		}
	}
	return dir, nil
}

// Load reads the run in a folder. What is not a run, is damaged, or was
// written by a newer piecebench is refused in one line that says which.
func Load(dir string) (*Run, error) {
	path := filepath.Join(dir, RunFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, fmt.Errorf("%s does not exist: name the folder of a run, such as results/%s",
			path, NewID(time.Date(2026, 3, 1, 17, 45, 0, 0, time.UTC), "host"))
	}
	if err != nil {
		return nil, err
	}
	// The version first: a newer schema need not fit today's types.
	var version struct{ Schema *int }
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, damaged(path, data, err)
	}
	switch {
	case version.Schema == nil || *version.Schema < 1:
		return nil, fmt.Errorf("%s has no schema version: it was not written by piecebench", path)
	case *version.Schema > SchemaVersion:
		return nil, fmt.Errorf("%s has schema %d, and this piecebench reads up to %d: use a newer piecebench",
			path, *version.Schema, SchemaVersion)
	}
	run := new(Run)
	if err := json.Unmarshal(data, run); err != nil {
		return nil, damaged(path, data, err)
	}
	if err := run.check(); err != nil {
		return nil, fmt.Errorf("%s is not a valid run: %w", path, err)
	}
	return run, nil
}

func damaged(path string, data []byte, err error) error {
	if len(data) == 0 {
		return fmt.Errorf("%s is empty: the run was lost when it was written", path)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok && e.Offset >= int64(len(data)) {
		return fmt.Errorf("%s is truncated: it ends after %d bytes", path, len(data))
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s is damaged: %s cannot be a %s, as it is at byte %d", path, e.Field, e.Value, e.Offset)
	}
	return fmt.Errorf("%s is damaged: %w", path, err)
}

// check finds what no writer of this package makes and what would give
// infinite or misplaced figures.
func (r *Run) check() error {
	if r.ID == "" {
		return errors.New("it has no id")
	}
	seen := make(map[int]bool, len(r.Cells))
	for i, c := range r.Cells {
		switch {
		case c.Target == "" || c.Link == "" || c.Mode == "":
			return fmt.Errorf("cell %d (number %d in the list) lacks its target, link or mode", c.ID, i+1)
		case c.Concurrency < 1:
			return fmt.Errorf("cell %d has concurrency %d", c.ID, c.Concurrency)
		case c.WindowS <= 0:
			return fmt.Errorf("cell %d has a window of %v s", c.ID, c.WindowS)
		case seen[c.ID]:
			return fmt.Errorf("cell %d is there twice", c.ID)
		}
		seen[c.ID] = true
	}
	return nil
}

// Save writes run.json into the run's folder, atomically: a reader, or a
// crash, sees the old file or the new one.
func (r *Run) Save(dir string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("run.json: %w", err)
	}
	return wholefile.Write(filepath.Join(dir, RunFile), append(data, '\n'), 0o644)
}
