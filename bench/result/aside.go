package result

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"piecebench/internal/wholefile"
)

// asideFolder holds, in a run's folder, what unfinished cells left.
const asideFolder = "unfinished"

// SetAside moves a cell's files, NAME.parquet in requests and the like, from these
// folders of a run to unfinished/, with .1 after their names, or the next number
// that is free. Nothing is deleted, and nothing there counts.
func SetAside(dir, name string, folders ...string) error {
	for _, folder := range folders {
		entries, err := os.ReadDir(filepath.Join(dir, folder))
		if err != nil {
			return err
		}
		for _, e := range entries {
			// A dot before it has a file that a kill left half-written.
			if !strings.HasPrefix(strings.TrimPrefix(e.Name(), "."), name+".") {
				continue
			}
			if err := os.MkdirAll(filepath.Join(dir, asideFolder), 0o755); err != nil {
				return err
			}
			to := free(filepath.Join(dir, asideFolder, e.Name()))
			if err := wholefile.Rename(filepath.Join(dir, folder, e.Name()), to); err != nil {
				return err
			}
		}
	}
	return nil
}

// free returns path with the first number after it that no file has.
func free(path string) string {
	for n := 1; ; n++ {
		if numbered := fmt.Sprint(path, ".", n); !exists(numbered) {
			return numbered
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// Lock keeps a run's folder for this process until unlock is called or the process
// ends, and removes what a killed one left half-written.
func Lock(dir string) (unlock func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		d.Close()
		return nil, fmt.Errorf("another piecebench is writing %s: wait for its end", dir)
	}
	if err := wholefile.Clean(dir, RunFile, CellsFile); err != nil {
		d.Close()
		return nil, err
	}
	return func() { d.Close() }, nil
}
