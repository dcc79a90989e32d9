package records

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync"

	"github.com/parquet-go/parquet-go"

	"piecebench/internal/wholefile"
)

// unfinishedSuffix follows the name of a records file that is not complete. Such a
// file has no footer, so no reader takes it for a complete one.
const unfinishedSuffix = ".unfinished"

// groupRows is how many rows a row group holds. The writer keeps one row group in
// memory: about 12 MB.
const groupRows = 64 << 10

// maxErrors is how many different error texts the records of a cell hold. They are kept
// in memory, and a server can make each of its errors different.
const maxErrors = 1000

// OtherError is the text of every further error.
const OtherError = "another error, not kept: there were 1000 different ones before"

// Window is the measured window, in Unix nanoseconds.
type Window struct{ StartNs, EndNs int64 }

// Writer writes the records of one cell, of its requests or of its jobs. Row groups go to
// path.unfinished while the cell runs. Close completes the file and renames it to path.
// After an error or a kill the unfinished file stays.
type Writer[Row Request | Job] struct {
	path    string
	file    *os.File
	parquet *parquet.GenericWriter[Row]
	text    func(*Row) *string // the row's error

	mu    sync.Mutex
	rows  []Row // added since the last flush
	spare []Row
	seen  map[string]bool // error texts
}

// Create begins the file of requests that will be path. See CheckFree.
func Create(path string) (*Writer[Request], error) {
	return create(path, func(r *Request) *string { return &r.Error })
}

// CreateJobs begins the file of jobs that will be path. See CheckFree.
func CreateJobs(path string) (*Writer[Job], error) {
	return create(path, func(j *Job) *string { return &j.Error })
}

func create[Row Request | Job](path string, text func(*Row) *string) (*Writer[Row], error) {
	if err := CheckFree(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path+unfinishedSuffix, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	pw := parquet.NewGenericWriter[Row](f, parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(groupRows))
	return &Writer[Row]{path: path, file: f, parquet: pw, text: text, seen: make(map[string]bool)}, nil
}

// CheckFree returns an error if there is a file at path, or an unfinished one beside
// it: results are never overwritten.
func CheckFree(path string) error {
	for _, name := range []string{path, path + unfinishedSuffix} {
		if _, err := os.Lstat(name); err == nil {
			return fmt.Errorf("%s exists already: remove it or name another file", name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Add keeps r for the next Flush. It may be called concurrently, and waits for no disk.
// What r points to must not change afterwards.
func (w *Writer[Row]) Add(r *Row) {
	w.mu.Lock()
	w.rows = append(w.rows, *r)
	if text := w.text(&w.rows[len(w.rows)-1]); *text != "" {
		*text = w.known(*text)
	}
	w.mu.Unlock()
}

// known returns an error text as it is kept.
func (w *Writer[Row]) known(text string) string {
	if !w.seen[text] {
		if len(w.seen) == maxErrors {
			return OtherError
		}
		w.seen[text] = true
	}
	return text
}

// Flush encodes the rows that were added since the last Flush. Each full row group is
// written when the row after it comes. Flush and Close must not run concurrently.
func (w *Writer[Row]) Flush() error {
	w.mu.Lock()
	rows := w.rows
	w.rows = w.spare[:0]
	w.mu.Unlock()
	w.spare = rows
	_, err := w.parquet.Write(rows)
	return w.wrap(err)
}

// Close writes the remaining rows and the window, and gives the file its name. After it
// the file is on the disk.
func (w *Writer[Row]) Close(win Window) error {
	defer w.file.Close()
	if err := w.Flush(); err != nil {
		return err
	}
	w.parquet.SetKeyValueMetadata(MetaWindowStart, strconv.FormatInt(win.StartNs, 10))
	w.parquet.SetKeyValueMetadata(MetaWindowEnd, strconv.FormatInt(win.EndNs, 10))
	if err := w.parquet.Close(); err != nil {
		return w.wrap(err)
	}
	if err := w.file.Sync(); err != nil {
		return w.wrap(err)
	}
	return w.wrap(wholefile.Rename(w.path+unfinishedSuffix, w.path))
}

func (w *Writer[Row]) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("records %s: %w", w.path, err)
	}
	return nil
}
