package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"piecebench/internal/progress"
	"piecebench/piece"
	"piecebench/piece/checksum"
	"piecebench/piece/commp"
	"piecebench/piece/fr32"
	"piecebench/piece/verify"

	"golang.org/x/sync/errgroup"
)

// Fault is something wrong on disk.
type Fault struct {
	File    string // path in the dataset
	Problem string
}

func (f Fault) String() string { return f.File + ": " + f.Problem }

// repair makes sure that the files of a generated dataset are whole, and
// rewrites those that are not.
func repair(ctx context.Context, dir string, m *piece.Manifest, log io.Writer) error {
	faults, fresh, err := quickCheck(ctx, dir, m)
	if err != nil {
		return err
	}
	if len(faults) == 0 {
		fmt.Fprintf(log, "%s: reusing the dataset (%d pieces, quick check passed)\n", dir, len(m.Pieces))
		if fresh {
			return nil
		}
		return finish(dir, m) // newer than the files, which were checked in full
	}
	broken := make(map[string]bool)
	for _, f := range faults {
		fmt.Fprintf(log, "%s is broken: %s\n", filepath.Join(dir, f.File), f.Problem)
		broken[f.File] = true
	}
	fmt.Fprintf(log, "%s: rebuilding what is broken (files: %d)\n", dir, len(broken))
	var need int64
	for _, p := range m.Pieces {
		if broken[p.Flat] {
			need += p.UnpaddedSize()
		}
	}
	for sector, size := range sectorSizes(m) {
		if broken[sector] {
			need += size
		}
	}
	if err := checkSpace(dir, need, 0); err != nil {
		return err
	}
	return write(ctx, dir, m, func(file string) bool { return broken[file] }, log)
}

// quickCheck looks at every file's size and at some of its bytes; at all of
// them where a file was changed after the manifest was written. fresh says
// that none was. Only generated datasets can be checked so.
func quickCheck(ctx context.Context, dir string, m *piece.Manifest) (faults []Fault, fresh bool, err error) {
	info, err := os.Stat(filepath.Join(dir, piece.ManifestName))
	if err != nil {
		return nil, false, err
	}
	fresh = true
	there, faults := present(dir, m)
	for i := range there {
		there[i].full = there[i].modified.After(info.ModTime())
		fresh = fresh && !there[i].full
	}
	more, err := checkFiles(ctx, dir, m, there, func(int64) {})
	return append(faults, more...), fresh, err
}

// Verify checks everything on disk in dir against the manifest there, to the
// last byte, and returns what is wrong. The error says that it could not.
func Verify(ctx context.Context, dir string, log io.Writer) (*piece.Manifest, []Fault, error) {
	m, err := piece.Load(filepath.Join(dir, piece.ManifestName))
	if err != nil {
		return nil, nil, err
	}
	var total int64
	there, faults := present(dir, m)
	for i := range there {
		f := &there[i]
		f.full, f.commit = true, !f.padded
		total += f.piece.UnpaddedSize()
	}
	for _, p := range m.Pieces {
		if p.Remote() && p.ChecksumFile != nil {
			if _, err := checksum.Load(dir, p); err != nil {
				faults = append(faults, Fault{p.ChecksumFile.Path, err.Error()})
			}
		}
	}
	add, done := progress.Print(log, "verifying "+dir, total)
	defer done()
	more, err := checkFiles(ctx, dir, m, there, add)
	return m, append(faults, more...), err
}

// present returns the pieces in files that are there and long enough, and the faults of
// the other files and of pieces.txt.
func present(dir string, m *piece.Manifest) (there []file, faults []Fault) {
	for _, f := range dataFiles(m) {
		var fault string
		if f.modified, fault = f.stat(dir); fault == "" {
			there = append(there, f)
		} else if !slices.Contains(faults, Fault{f.path, fault}) { // pieces share sectors
			faults = append(faults, Fault{f.path, fault})
		}
	}
	if have, err := os.ReadFile(filepath.Join(dir, listName)); err != nil || !bytes.Equal(have, list(m)) {
		faults = append(faults, Fault{listName, "not the pieces of the manifest"})
	}
	return there, faults
}

// file is one piece in one of the files that hold it, and how to check it.
type file struct {
	path   string // in the dataset
	piece  piece.Piece
	size   int64 // of the whole file
	offset int64 // of the piece in the file
	padded bool  // in fr32 form
	full   bool  // check all of it, not samples
	commit bool  // compute the CID, too

	modified time.Time
}

func dataFiles(m *piece.Manifest) (all []file) {
	sizes := sectorSizes(m)
	for _, p := range m.Pieces {
		if p.Flat != "" {
			all = append(all, file{path: p.Flat, piece: p, size: p.SizeAs(1)})
		}
		if p.Sector != "" {
			all = append(all, file{path: p.Sector, piece: p, size: sizes[p.Sector], offset: p.SectorOffset, padded: true})
		}
	}
	return all
}

func (f file) stat(dir string) (modified time.Time, fault string) {
	info, err := os.Stat(filepath.Join(dir, f.path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return modified, "missing"
	case err != nil:
		return modified, err.Error()
	case !info.Mode().IsRegular():
		return modified, "not a regular file"
	case info.Size() != f.size && (!f.padded || info.Size() < f.size):
		return modified, fmt.Sprintf("%d bytes long, want %d", info.Size(), f.size)
	}
	return info.ModTime(), ""
}

// checkFiles checks the bytes of files that are there.
func checkFiles(ctx context.Context, dir string, m *piece.Manifest, all []file, add func(int64)) (faults []Fault, err error) {
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, f := range all {
		g.Go(func() error {
			path := f.path
			ref, err := verify.Open(dir, m, f.piece)
			if err != nil { // of both files of a piece
				path = f.piece.ChecksumFile.Path
			} else {
				err = f.check(ctx, dir, ref, samples(len(m.Pieces)), add)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				faults = append(faults, Fault{path, err.Error()})
			}
			return nil
		})
	}
	err = g.Wait()
	slices.SortFunc(faults, func(a, b Fault) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(faults), err
}

// sampleGroups is the length of one sample, in fr32 groups.
const sampleGroups = 32

// samples returns how many samples of each piece and file a quick check
// takes. Together they take about a second from a cold disk.
func samples(pieces int) int { return min(max(256/pieces, 1), 32) }

// check compares all of the piece in the file, or some samples, with what it
// must be.
func (f file) check(ctx context.Context, dir string, ref *verify.Reference, samples int, add func(int64)) error {
	r, err := os.Open(filepath.Join(dir, f.path))
	if err != nil {
		return err
	}
	defer r.Close()
	groups := f.piece.PaddedSize / fr32.Padded
	if f.full {
		return f.checkGroups(ctx, r, ref, 0, groups, add)
	}
	length := min(groups, sampleGroups)
	for i := range samples {
		first := rand.Int64N(groups - length + 1)
		switch i { // the ends are where files are cut
		case 0:
			first = groups - length
		case 1:
			first = 0
		}
		if err := f.checkGroups(ctx, r, ref, first, length, add); err != nil {
			return err
		}
	}
	return nil
}

func (f file) checkGroups(ctx context.Context, r io.ReaderAt, ref *verify.Reference, first, n int64, add func(int64)) error {
	c := ref.Range(first*fr32.Payload, n*fr32.Payload)
	watched := writerFunc(func(b []byte) (int, error) {
		add(int64(len(b)))
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return c.Write(b)
	})
	if f.padded {
		return scanPadded(watched, io.NewSectionReader(r, f.offset+first*fr32.Padded, n*fr32.Padded))
	}
	data := io.NewSectionReader(r, first*fr32.Payload, n*fr32.Payload)
	if !f.commit {
		_, err := io.CopyBuffer(watched, struct{ io.Reader }{data}, make([]byte, min(1<<20, n*fr32.Payload)))
		return err
	}
	return f.checkCID(io.TeeReader(data, watched))
}

// checkCID computes the piece's CID from its unpadded bytes.
func (f file) checkCID(unpadded io.Reader) error {
	payload := io.LimitReader(unpadded, f.piece.PayloadSize)
	c, err := commp.Sum(payload)
	if fault := (*verify.Error)(nil); errors.As(err, &fault) {
		return fault
	}
	if err != nil {
		return err
	}
	if c.String() != f.piece.CIDv2 {
		return fmt.Errorf("its piece CID is %s, want %s", c, f.piece.CIDv2)
	}
	_, err = io.Copy(io.Discard, unpadded)
	return err
}

// scanPadded writes the payload of padded groups to w.
func scanPadded(w io.Writer, r *io.SectionReader) error {
	const most = 1 << 20
	padded := make([]byte, min(most, r.Size()))
	unpadded := make([]byte, len(padded)/fr32.Padded*fr32.Payload)
	for at := int64(0); at < r.Size(); at += int64(len(padded)) {
		padded = padded[:min(int64(len(padded)), r.Size()-at)]
		if _, err := io.ReadFull(r, padded); err != nil {
			return err
		}
		for i := 31; i < len(padded); i += 32 {
			if padded[i]&0xc0 != 0 {
				return fmt.Errorf("byte %d of the padded piece is 0x%02x: its top two bits must be zero", at+int64(i), padded[i])
			}
		}
		out := unpadded[:len(padded)/fr32.Padded*fr32.Payload]
		fr32.Unpad(out, padded)
		if _, err := w.Write(out); err != nil {
			return err
		}
	}
	return nil
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
