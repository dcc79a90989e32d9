package records

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/parquet-go/parquet-go"

	"piecebench/internal/wholefile"
)

// partsSuffix names the folder, beside the records file, that holds the parts
// of a run that has not ended: one complete Parquet file a flush.
const partsSuffix = ".parts"

// groupRows is how many rows a row group holds. The writer keeps the columns of
// one in memory: 200 MB of 4 million rows in one group, 13 MB so.
const groupRows = 128 << 10

// Window is the measured window, in Unix nanoseconds.
type Window struct{ StartNs, EndNs int64 }

// maxErrors is how many different error texts the records of a cell hold. A
// server can have each of its errors be another one, and they are held in memory.
const maxErrors = 1000

// OtherError is the text of the errors beyond.
const OtherError = "another error, not kept: there were 1000 different ones before"

// Writer writes the records of one cell to path. Until Close they are in
// path.parts, where every flush adds one complete Parquet file by rename, so a
// process that is killed loses only what it had not flushed. A Parquet file
// has its index at its end: one that is still being written has no readable
// state in between.
type Writer struct {
	path  string
	mu    sync.Mutex
	rows  []Request
	spare []Request
	parts int
	seen  map[string]bool // error texts
}

// Create prepares to write path. It refuses a path that holds records, or the
// parts of an interrupted run, already.
func Create(path string) (*Writer, error) {
	if err := CheckFree(path); err != nil {
		return nil, err
	}
	if err := os.Mkdir(path+partsSuffix, 0o755); err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	return &Writer{path: path, seen: make(map[string]bool)}, nil
}

// CheckFree returns an error when something is at path, or the parts of an
// interrupted run beside it: results are never overwritten.
func CheckFree(path string) error {
	for _, name := range []string{path, path + partsSuffix} {
		if _, err := os.Lstat(name); err == nil {
			return fmt.Errorf("%s exists already: remove it or name another file", name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Add keeps r for the next Flush. It may be called concurrently.
func (w *Writer) Add(r *Request) {
	w.mu.Lock()
	w.rows = append(w.rows, *r)
	if r.Error != "" {
		w.rows[len(w.rows)-1].Error = w.known(r.Error)
	}
	w.mu.Unlock()
}

// known returns an error text as it is kept.
func (w *Writer) known(text string) string {
	if !w.seen[text] {
		if len(w.seen) == maxErrors {
			return OtherError
		}
		w.seen[text] = true
	}
	return text
}

// Flush writes the rows added since the last one as a part. It does nothing
// when there are none. Flush and Close must not run concurrently.
func (w *Writer) Flush(win Window) error {
	w.mu.Lock()
	rows := w.rows
	w.rows = w.spare[:0]
	w.mu.Unlock()
	w.spare = rows
	if len(rows) == 0 {
		return nil
	}
	w.parts++
	name := filepath.Join(w.path+partsSuffix, fmt.Sprintf("%06d.parquet", w.parts))
	return writePart(name, win, func(pw *parquet.GenericWriter[Request]) error {
		_, err := pw.Write(rows)
		return err
	})
}

// Close flushes, merges the parts into the records file and removes them.
func (w *Writer) Close(win Window) error {
	if err := w.Flush(win); err != nil {
		return err
	}
	return merge(w.path, win)
}

// Recover makes the records file out of the parts that a killed process left.
// It does nothing when the file is complete.
func Recover(path string) error {
	r, err := Open(path)
	if err != nil {
		return err
	}
	complete, win := r.Complete(), r.Window()
	if complete {
		return nil
	}
	return merge(path, win)
}

// merge copies all parts of path into path, part by part.
func merge(path string, win Window) error {
	parts, err := partFiles(path)
	if err != nil {
		return err
	}
	err = writeWhole(path, win, func(pw *parquet.GenericWriter[Request]) error {
		r := &Reader{files: parts}
		batch := make([]Request, 0, batchRows)
		for row, err := range r.Rows() {
			if err != nil {
				return err
			}
			if batch = append(batch, row); len(batch) == cap(batch) {
				if _, err := pw.Write(batch); err != nil {
					return err
				}
				batch = batch[:0]
			}
		}
		_, err := pw.Write(batch)
		return err
	})
	if err != nil {
		return err
	}
	return os.RemoveAll(path + partsSuffix)
}

// writeWhole writes the records file: a power cut leaves all of it or nothing.
func writeWhole(name string, win Window, fill func(*parquet.GenericWriter[Request]) error) error {
	f, err := wholefile.Create(name, 0o644)
	if err == nil {
		defer f.Discard()
		if err = writeParquet(f, win, fill); err == nil {
			err = f.Commit()
		}
	}
	if err != nil {
		return fmt.Errorf("records %s: %w", name, err)
	}
	return nil
}

// writePart writes a part. It survives its process, and not a power cut, after which
// the cell is measured again in any case: to wait for the disk once a second would
// take from what is measured.
func writePart(name string, win Window, fill func(*parquet.GenericWriter[Request]) error) error {
	tmp := name + ".tmp"
	f, err := os.Create(tmp)
	if err != nil {
		return fmt.Errorf("records: %w", err)
	}
	err = writeParquet(f, win, fill)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp, name)
	}
	if err != nil {
		os.Remove(tmp)
		return fmt.Errorf("records %s: %w", name, err)
	}
	return nil
}

func writeParquet(f io.Writer, win Window, fill func(*parquet.GenericWriter[Request]) error) error {
	pw := parquet.NewGenericWriter[Request](f,
		parquet.Compression(&parquet.Snappy),
		parquet.MaxRowsPerRowGroup(groupRows),
		parquet.KeyValueMetadata(MetaWindowStart, strconv.FormatInt(win.StartNs, 10)),
		parquet.KeyValueMetadata(MetaWindowEnd, strconv.FormatInt(win.EndNs, 10)))
	if err := fill(pw); err != nil {
		return err
	}
	return pw.Close()
}
