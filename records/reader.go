package records

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// batchRows is how many rows are in memory at once when reading.
const batchRows = 1024

// Reader reads the requests of one cell.
type Reader struct{ complete }

// Open opens the complete file of requests at path. The error is fs.ErrNotExist if there
// is none, as after a kill.
func Open(path string) (*Reader, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	return &Reader{f}, nil
}

// Jobs reads the jobs of one cell.
type Jobs struct{ complete }

// OpenJobs opens the complete file of jobs at path. Its errors are those of Open.
func OpenJobs(path string) (*Jobs, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	return &Jobs{f}, nil
}

// complete is a file of records that a Writer has closed.
type complete struct {
	path   string
	window Window
}

func open(path string) (complete, error) {
	c := complete{path: path}
	f, pf, err := openParquet(path)
	if err == nil {
		defer f.Close()
		c.window, err = readWindow(pf)
	}
	if err != nil {
		return c, fmt.Errorf("records %s: %w", path, err)
	}
	return c, nil
}

// Window returns the measured window.
func (c complete) Window() Window { return c.window }

// Rows reads all rows, in the order in which the requests ended. It stops at the first
// error. It may be called again.
func (r *Reader) Rows() iter.Seq2[Request, error] {
	return rows(r.path, func(row *Request) Request { return *row })
}

// Rows reads all rows, in the order in which the jobs ended. It stops at the first error.
// It may be called again.
func (r *Jobs) Rows() iter.Seq2[Job, error] {
	return rows(r.path, func(row *Job) Job { return *row })
}

// timing is the columns that Timings reads.
type timing struct {
	StartUnixNs int64   `parquet:"start_unix_ns"`
	ConnectNs   int64   `parquet:"connect_ns"`
	TLSNs       int64   `parquet:"tls_ns"`
	TTFBNs      int64   `parquet:"ttfb_ns"`
	DurationNs  int64   `parquet:"duration_ns"`
	Outcome     Outcome `parquet:"outcome,dict"`
	RedirectNs  int64   `parquet:"redirect_ns"`
}

// Timings reads as Rows does, but only when requests started, how long they and
// their phases took, and how they ended; the other fields are zero.
func (r *Reader) Timings() iter.Seq2[Request, error] {
	return rows(r.path, func(t *timing) Request {
		return Request{StartUnixNs: t.StartUnixNs, ConnectNs: t.ConnectNs, TLSNs: t.TLSNs, TTFBNs: t.TTFBNs,
			DurationNs: t.DurationNs, Outcome: t.Outcome, RedirectNs: t.RedirectNs}
	})
}

// rows reads the columns that T has. A column that the file does not have is zero.
func rows[T, Row any](path string, row func(*T) Row) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		fail := func(err error) {
			var none Row
			yield(none, fmt.Errorf("records %s: %w", path, err))
		}
		f, pf, err := openParquet(path)
		if err != nil {
			fail(err)
			return
		}
		defer f.Close()
		pr := parquet.NewGenericReader[T](pf)
		defer pr.Close()
		batch := make([]T, batchRows)
		for {
			n, err := pr.Read(batch)
			for i := range batch[:n] {
				if !yield(row(&batch[i]), nil) {
					return
				}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				fail(err)
				return
			}
		}
	}
}

func openParquet(path string) (*os.File, *parquet.File, error) {
	f, err := os.Open(path)
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
	return nil, nil, err
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
