// Package wholefile writes files that are whole or not there: for a reader, after a
// kill, and after a power cut. It is the one place that renames files.
package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
)

// File is a file that is being written. Commit gives it its name, Discard removes it.
type File struct {
	*renameio.PendingFile
	path string
}

// Create begins the file that will be path. It replaces an existing one. Its mode is
// perm before the umask.
func Create(path string, perm fs.FileMode, options ...renameio.Option) (*File, error) {
	// Beside path, not in TMPDIR, so that Clean finds what a kill leaves.
	f, err := renameio.NewPendingFile(path, append(options, renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(perm))...)
	if err != nil {
		return nil, err
	}
	return &File{f, path}, nil
}

// Commit closes the file and gives it its name. After it the file is on the disk,
// not only in memory.
func (f *File) Commit() error {
	if err := f.CloseAtomicallyReplace(); err != nil {
		return errors.Join(err, f.Discard())
	}
	return sync(filepath.Dir(f.path))
}

// Discard removes the file; it does nothing after Commit.
func (f *File) Discard() error { return f.Cleanup() }

// Write writes a file at once.
func Write(path string, data []byte, perm fs.FileMode, options ...renameio.Option) error {
	f, err := Create(path, perm, options...)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Commit()
}

// Rename gives a file or folder another name. Its content has to be on the disk.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	if filepath.Dir(from) != filepath.Dir(to) {
		if err := sync(filepath.Dir(from)); err != nil {
			return err
		}
	}
	return sync(filepath.Dir(to))
}

// Symlink makes path, which it replaces, a symbolic link to target.
func Symlink(target, path string) error {
	if err := renameio.Symlink(target, path); err != nil {
		return err
	}
	return sync(filepath.Dir(path))
}

// Mkdir makes a folder that survives a power cut.
func Mkdir(path string, perm fs.FileMode) error {
	if err := os.Mkdir(path, perm); err != nil {
		return err
	}
	return sync(filepath.Dir(path))
}

// Clean removes what a killed process left of the files of these names in dir. No
// other process may be writing them.
func Clean(dir string, names ...string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		for _, name := range names {
			if number, left := strings.CutPrefix(e.Name(), "."+name); left && number != "" && strings.Trim(number, "0123456789") == "" {
				err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
			}
		}
	}
	return err
}

// sync writes a folder's names to the disk.
func sync(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
