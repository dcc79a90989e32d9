package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"piecebench/internal/wholefile"
	"piecebench/piece/bytesize"

	"golang.org/x/sys/unix"
)

// lock takes the dataset's folder, which it makes if need be, for this process
// alone, and removes what a killed one left there. unlock removes the folders
// that lock made and that are still empty.
func lock(dir string) (unlock func(), err error) {
	subs := []string{flatDir, sectorDir, checksumDir}
	dirs := []string{dir}
	for _, sub := range subs {
		dirs = append(dirs, filepath.Join(dir, sub))
	}
	made, err := makeDirs(dirs)
	removeMade := func() {
		for _, d := range slices.Backward(made) {
			os.Remove(d) // fails where something is in it
		}
	}
	if err != nil {
		removeMade()
		return nil, err
	}
	f, err := os.Open(dir)
	if err != nil {
		removeMade()
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("another process is making a dataset in %s: wait for it, or choose another --dir", dir)
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	for _, sub := range subs {
		stale, err := filepath.Glob(filepath.Join(dir, sub, ".*.tmp"))
		if err != nil {
			continue // dir has characters of a pattern
		}
		for _, path := range stale {
			os.Remove(path)
		}
	}
	return func() { removeMade(); f.Close() }, nil
}

// makeDirs makes the folders that do not exist, and returns them.
func makeDirs(dirs []string) (made []string, err error) {
	for _, d := range dirs {
		if _, err := os.Stat(d); err == nil {
			continue
		}
		if err := os.MkdirAll(d, 0o755); err != nil {
			return made, err
		}
		made = append(made, d)
		// nginx's workers run as another user, whatever this one's umask is.
		if err := os.Chmod(d, 0o755); err != nil {
			return made, err
		}
	}
	return made, nil
}

// staging holds files under temporary names until all of them are complete.
// It is safe for concurrent use.
type staging struct {
	dir string

	mu    sync.Mutex
	files []*stagedFile
	links map[string]string // files elsewhere, by path in the dataset
}

type stagedFile struct {
	*os.File
	final string // path in the dataset
}

// create makes an empty file of this size that will be sub/<name>.
func (s *staging) create(sub, name string, size int64) (*stagedFile, error) {
	f, err := os.OpenFile(filepath.Join(s.dir, sub, "."+name+".tmp"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	staged := &stagedFile{File: f, final: sub + "/" + name}
	s.mu.Lock()
	s.files = append(s.files, staged)
	s.mu.Unlock()
	if err := f.Chmod(0o644); err != nil {
		return nil, err
	}
	return staged, f.Truncate(size)
}

// finish closes a file whose content is complete.
func (f *stagedFile) finish() error {
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

// commit gives all files their names.
func (s *staging) commit() error {
	for _, f := range s.files {
		if err := wholefile.Rename(f.Name(), filepath.Join(s.dir, f.final)); err != nil {
			return err
		}
	}
	s.files = nil
	for path, target := range s.links {
		if err := wholefile.Symlink(target, filepath.Join(s.dir, path)); err != nil {
			return err
		}
	}
	return nil
}

// discard removes the files that were not committed.
func (s *staging) discard() {
	for _, f := range s.files {
		f.Close()
		os.Remove(f.Name())
	}
}

// spare is kept free beside what a dataset needs, in bytes: folders, the
// manifest, the file system's own blocks.
const spare = 16 << 20

// checkSpace refuses to start when the file system of dir, once freed bytes
// are removed from it, has no room for need bytes more.
func checkSpace(dir string, need, freed int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	have := int64(st.Bavail)*st.Bsize + freed
	if need+spare <= have {
		return nil
	}
	return fmt.Errorf("%s needs %s (%d bytes), but its disk has %s (%d bytes) free: free some, choose another --dir, or make fewer or smaller pieces",
		dir, rounded(need+spare), need+spare, rounded(have), have)
}

func rounded(n int64) string {
	for _, unit := range []int64{1 << 30, 1 << 20} {
		if n >= 10*unit {
			n -= n % unit
			return bytesize.String(n)
		}
	}
	return bytesize.String(n)
}
