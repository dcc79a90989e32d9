package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/google/renameio/v2"
	"golang.org/x/sync/errgroup"

	"piecebench/internal/progress"
	"piecebench/internal/wholefile"
	"piecebench/piece"
	"piecebench/piece/bytesize"
	"piecebench/piece/checksum"
	"piecebench/piece/piececid"
	"piecebench/piece/remote"
)

// Addition is pieces that a server has, and that a dataset is to name.
type Addition struct {
	Server   *remote.Server
	CIDs     []piececid.CID
	Verify   bool // download each piece once, check its CID, and keep checksums
	Parallel int  // requests or downloads at a time; at least 1
}

// Add adds pieces of a server to the dataset in dir, or makes one of them. It keeps no
// copy of their bytes. Pieces that are there already, and verified where Verify wants
// that, are not asked for again.
//
// Without Verify, all pieces are added or none. With it, each is added when it is done,
// and what is done of the others is kept in hidden files beside the checksums: a second
// Add goes on from there. An error that wraps *remote.Mismatch is of pieces that are
// not what their CID names; the others are added.
func Add(ctx context.Context, dir string, a Addition, log io.Writer) (m *piece.Manifest, err error) {
	unlock, err := lock(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	m, err = piece.Load(filepath.Join(dir, piece.ManifestName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		m = &piece.Manifest{}
	case err != nil:
		return nil, err
	case slices.ContainsFunc(m.Pieces, func(p piece.Piece) bool { return !p.Remote() }):
		return nil, fmt.Errorf("%s holds a dataset with files, which is not mixed with pieces of a server: choose another --dir", dir)
	}
	d := &addition{Addition: a, dir: dir, manifest: m}
	found, err := d.find(ctx)
	if err != nil {
		return nil, err
	}
	if !a.Verify {
		for _, p := range found {
			d.put(p)
		}
		return m, d.save()
	}
	return m, d.verify(ctx, found, log)
}

// addition is an Add under way.
type addition struct {
	Addition
	dir string

	mu       sync.Mutex
	manifest *piece.Manifest
}

// find asks the server for the pieces that the manifest lacks.
func (d *addition) find(ctx context.Context) ([]piece.Piece, error) {
	found := make([]piece.Piece, len(d.CIDs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(d.Parallel)
	for i, c := range d.CIDs {
		if d.has(c) || slices.ContainsFunc(d.CIDs[:i], func(other piececid.CID) bool { return other.Root == c.Root }) {
			continue
		}
		g.Go(func() (err error) {
			found[i], err = d.Server.Piece(ctx, c)
			if err == nil && found[i].PaddedSize > MaxPieceSize {
				err = &remote.Mismatch{CID: c.String(), Problem: fmt.Sprintf("%s is larger than the largest piece", bytesize.String(found[i].PaddedSize))}
			}
			return err
		})
	}
	err := g.Wait()
	return slices.DeleteFunc(found, func(p piece.Piece) bool { return p.CID == "" }), err
}

// has tells whether nothing is to be done for a CID.
func (d *addition) has(c piececid.CID) bool {
	return slices.ContainsFunc(d.manifest.Pieces, func(p piece.Piece) bool {
		return p.CID == c.V1().String() && (c.Version == 1 || p.CIDv2 == c.String()) && (p.ChecksumFile != nil || !d.Verify)
	})
}

// put adds a piece to the manifest, or replaces it there. The order of the pieces is
// that of the CIDs, after those that were there before: runs draw pieces by it.
func (d *addition) put(p piece.Piece) {
	all := slices.DeleteFunc(d.manifest.Pieces, func(old piece.Piece) bool { return old.CID == p.CID })
	all = append(all, p)
	place := func(p piece.Piece) int {
		return slices.IndexFunc(d.CIDs, func(c piececid.CID) bool { return c.V1().String() == p.CID })
	}
	slices.SortStableFunc(all, func(a, b piece.Piece) int { return cmp.Compare(place(a), place(b)) })
	for i := range all {
		all[i].Index = uint64(i)
	}
	d.manifest.Pieces = all
}

// save writes the manifest, if it has a piece.
func (d *addition) save() error {
	if len(d.manifest.Pieces) == 0 {
		return nil
	}
	d.manifest.Version = piece.ManifestVersion
	return finish(d.dir, d.manifest)
}

// verify downloads pieces, and adds those that are what their CIDs name.
func (d *addition) verify(ctx context.Context, found []piece.Piece, log io.Writer) error {
	var total int64
	for _, p := range found {
		total += p.PayloadSize
	}
	add, done := progress.Print(log, "verifying into "+d.dir, total)
	defer done()
	summer := remote.NewSummer(d.Server, d.Parallel)
	var wrong []error // not what the CIDs name; by piece
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(d.Parallel)
	for _, p := range found {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			err := d.verifyOne(ctx, summer, p, add)
			if mismatch := (*remote.Mismatch)(nil); errors.As(err, &mismatch) {
				d.mu.Lock()
				defer d.mu.Unlock()
				wrong = append(wrong, err)
				return nil
			}
			return err
		})
	}
	return errors.Join(append(wrong, g.Wait())...)
}

func (d *addition) verifyOne(ctx context.Context, summer *remote.Summer, p piece.Piece, add func(int64)) error {
	journal := filepath.Join(d.dir, checksumDir, "."+p.CID+".journal")
	sums, err := summer.Sum(ctx, p, journal, add)
	if err != nil {
		return err
	}
	path := checksumDir + "/" + p.CID
	p.ChecksumFile = checksum.File(path, sums)
	if err := wholefile.Write(filepath.Join(d.dir, path), sums, 0o644, renameio.IgnoreUmask()); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.put(p)
	return errors.Join(d.save(), os.Remove(journal))
}
