package records

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// batchRows is how many rows are in memory at once when reading.
const batchRows = 1024

// Reader reads the records of one cell.
type Reader struct {
	files    []string
	complete bool
	window   Window
}

// Open opens the records that were written to path: the file itself or, where
// the writing process was killed, the parts it left. The error is fs.ErrNotExist
// when there is neither.
func Open(path string) (*Reader, error) {
	r := &Reader{}
	if _, err := os.Stat(path); err == nil {
		r.files, r.complete = []string{path}, true
	} else if r.files, err = partFiles(path); err != nil {
		return nil, err
	}
	for _, name := range r.files[:min(1, len(r.files))] {
		f, pf, err := openParquet(name)
		if err != nil {
			return nil, err
		}
		r.window, err = readWindow(pf)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("records %s: %w", name, err)
		}
	}
	return r, nil
}

// Complete reports whether the writer ended in an orderly way.
func (r *Reader) Complete() bool { return r.complete }

// Window returns the measured window. It is zero when a killed writer had not
// flushed anything yet.
func (r *Reader) Window() Window { return r.window }

// Rows reads all rows, in the order in which the requests ended, to within a
// flush. It stops at the first error. It may be called again.
func (r *Reader) Rows() iter.Seq2[Request, error] {
	return rows(r.files, func(row *Request) Request { return *row })
}

// timing is the columns that Timings reads.
type timing struct {
	StartUnixNs int64  `parquet:"start_unix_ns"`
	ConnectNs   int64  `parquet:"connect_ns"`
	TLSNs       int64  `parquet:"tls_ns"`
	TTFBNs      int64  `parquet:"ttfb_ns"`
	DurationNs  int64  `parquet:"duration_ns"`
	Outcome     string `parquet:"outcome,dict"`
	RedirectNs  int64  `parquet:"redirect_ns"`
}

// Timings reads as Rows does, but only when requests started, how long they and
// their phases took, and how they ended; the other fields are zero.
func (r *Reader) Timings() iter.Seq2[Request, error] {
	return rows(r.files, func(t *timing) Request {
		return Request{StartUnixNs: t.StartUnixNs, ConnectNs: t.ConnectNs, TLSNs: t.TLSNs, TTFBNs: t.TTFBNs,
			DurationNs: t.DurationNs, Outcome: t.Outcome, RedirectNs: t.RedirectNs}
	})
}

// rows reads the columns that T has.
func rows[T any](files []string, request func(*T) Request) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		batch := make([]T, batchRows)
		for _, name := range files {
			ok, err := readFile(name, batch, func(row *T) bool { return yield(request(row), nil) })
			if err != nil {
				yield(Request{}, fmt.Errorf("records %s: %w", name, err))
				return
			}
			if !ok {
				return
			}
		}
	}
}

// readFile hands the rows of one file to yield until that returns false.
func readFile[T any](name string, batch []T, yield func(*T) bool) (bool, error) {
	f, pf, err := openParquet(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	pr := parquet.NewGenericReader[T](pf)
	defer pr.Close()
	for {
		n, err := pr.Read(batch)
		for i := range batch[:n] {
			if !yield(&batch[i]) {
				return false, nil
			}
		}
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
}

func openParquet(name string) (*os.File, *parquet.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	st, err := f.Stat()
	if err == nil {
		var pf *parquet.File
		if pf, err = parquet.OpenFile(f, st.Size()); err == nil {
			return f, pf, nil
		}
	}
	f.Close()
	return nil, nil, fmt.Errorf("records %s: %w", name, err)
}

func readWindow(pf *parquet.File) (Window, error) {
	var w Window
	for key, dst := range map[string]*int64{MetaWindowStart: &w.StartNs, MetaWindowEnd: &w.EndNs} {
		s, ok := pf.Lookup(key)
		if !ok {
			return w, fmt.Errorf("no %s in the file's metadata: not written by piecebench", key)
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return w, fmt.Errorf("%s: %w", key, err)
		}
		*dst = n
	}
	return w, nil
}

// partFiles lists the parts of path in the order they were written. The
// temporary file of an interrupted flush is not one.
func partFiles(path string) ([]string, error) {
	entries, err := os.ReadDir(path + partsSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("records %s: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	var names []string
	for _, e := range entries { // sorted by name, which is by number
		if filepath.Ext(e.Name()) == ".parquet" {
			names = append(names, filepath.Join(path+partsSuffix, e.Name()))
		}
	}
	return names, nil
}
