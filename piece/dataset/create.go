package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/google/renameio/v2"

	"piecebench/internal/progress"
	"piecebench/internal/wholefile"
	"piecebench/piece"
	"piecebench/piece/payload"
	"piecebench/piece/piececid"

	"golang.org/x/sync/errgroup"
)

// Create makes the dataset that p names in dir, or reuses the one that is
// there, after a quick check (see quickCheck) and after repairing the files that
// are broken. A generated dataset with other parameters is replaced; an
// imported one is refused. It logs what it finds and does,
// line by line.
//
// An interrupted or failed Create leaves no new file behind: files get their
// names when all are complete, and the manifest comes last.
func Create(ctx context.Context, dir string, p Params, log io.Writer) (*piece.Manifest, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	unlock, err := lock(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()

	manifest := filepath.Join(dir, piece.ManifestName)
	old, err := piece.Load(manifest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		if imported(manifest) {
			return nil, fmt.Errorf("%w; it is of imported files, so it is left as it is: fix it, or choose another --dir", err)
		}
		fmt.Fprintf(log, "%v: making the dataset again\n", err)
	case p.made(old):
		return old, repair(ctx, dir, old, log)
	case slices.ContainsFunc(old.Pieces, func(p piece.Piece) bool { return !p.Generated() }):
		return nil, fmt.Errorf("%s holds imported files, which are not overwritten: choose another --dir", dir)
	default:
		fmt.Fprintf(log, "%s was made with other parameters: making it again\n", dir)
	}
	return create(ctx, dir, p, old, log)
}

// imported reports whether a manifest that cannot be loaded has checksums, of
// either version.
func imported(manifest string) bool {
	data, err := os.ReadFile(manifest)
	return err != nil || bytes.Contains(data, []byte(`"checksum_file"`)) || bytes.Contains(data, []byte(`"checksums"`))
}

// create makes all files, after removing those of old, which may be nil.
func create(ctx context.Context, dir string, p Params, old *piece.Manifest, log io.Writer) (*piece.Manifest, error) {
	sizes := slices.Repeat([]int64{p.PieceSize}, p.Pieces)
	m := &piece.Manifest{Version: piece.ManifestVersion, Seed: p.Seed}
	var need int64
	for i, at := range layout(sizes) {
		next := piece.Piece{Index: uint64(i), PaddedSize: p.PieceSize, Sector: at.sector, SectorOffset: at.offset}
		next.PayloadSize = next.UnpaddedSize()
		m.Pieces = append(m.Pieces, next)
		need += next.PaddedSize + next.UnpaddedSize()
	}
	if err := checkSpace(dir, need, used(dir, old)); err != nil {
		return nil, err
	}
	if err := remove(dir, old); err != nil {
		return nil, err
	}
	if err := write(ctx, dir, m, func(string) bool { return true }, log); err != nil {
		return nil, err
	}
	fmt.Fprintf(log, "%s: made the dataset (%v)\n", dir, p)
	return m, nil
}

// used returns how many bytes of disk a dataset takes.
func used(dir string, m *piece.Manifest) (n int64) {
	if m == nil {
		return 0
	}
	for _, file := range m.Files() {
		if info, err := os.Stat(filepath.Join(dir, file)); err == nil {
			n += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
	}
	return n
}

// remove removes a dataset, its manifest first, so that what is left of an
// interrupted removal is not taken for a dataset.
func remove(dir string, m *piece.Manifest) error {
	if m == nil {
		return nil
	}
	for _, file := range append([]string{piece.ManifestName, listName}, m.Files()...) {
		if err := os.Remove(filepath.Join(dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// write writes those flat and sector files of a generated dataset that are
// wanted, pieces.txt, and the manifest. Pieces with no CID yet get theirs; for
// the others it must be the one that comes out.
func write(ctx context.Context, dir string, m *piece.Manifest, wanted func(file string) bool, log io.Writer) error {
	stage := &staging{dir: dir}
	defer stage.discard()
	sectors, err := createSectors(stage, m, wanted)
	if err != nil {
		return err
	}
	var todo []*piece.Piece
	var total int64
	for i := range m.Pieces {
		if p := &m.Pieces[i]; wanted(p.Flat) || sectors[p.Sector] != nil {
			todo = append(todo, p)
			total += p.PayloadSize
		}
	}
	add, done := progress.Print(log, "making "+dir, total)
	defer done()

	// Pieces of several parts use all cores each; small ones run side by side.
	g, inner := errgroup.WithContext(ctx)
	g.SetLimit(1)
	if len(todo) > 0 && parts(todo[0].PaddedSize) == 1 {
		g.SetLimit(runtime.GOMAXPROCS(0))
	}
	for _, p := range todo {
		g.Go(func() error {
			out := output{sectorOffset: p.SectorOffset}
			if f := sectors[p.Sector]; f != nil {
				out.sector = f
			}
			return writeGenerated(inner, stage, m.Seed, p, wanted(p.Flat), out, add)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, f := range sectors {
		if err := f.finish(); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := stage.commit(); err != nil {
		return err
	}
	return finish(dir, m)
}

func createSectors(stage *staging, m *piece.Manifest, wanted func(string) bool) (map[string]*stagedFile, error) {
	sizes := sectorSizes(m)
	sectors := make(map[string]*stagedFile)
	for sector, size := range sizes {
		if !wanted(sector) {
			continue
		}
		f, err := stage.create(path.Dir(sector), path.Base(sector), size)
		if err != nil {
			return nil, err
		}
		sectors[sector] = f
	}
	return sectors, nil
}

// sectorSizes returns the size of each sector file: to its last piece's end.
func sectorSizes(m *piece.Manifest) map[string]int64 {
	sizes := make(map[string]int64)
	for _, p := range m.Pieces {
		if p.Sector != "" {
			sizes[p.Sector] = max(sizes[p.Sector], p.SectorOffset+p.PaddedSize)
		}
	}
	return sizes
}

func writeGenerated(ctx context.Context, stage *staging, seed uint64, p *piece.Piece, flat bool, out output, add func(int64)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var file *stagedFile
	if flat {
		name := path.Base(p.Flat)
		if p.Flat == "" {
			name = fmt.Sprint("piece-", p.Index) // until the CID is known
		}
		var err error
		if file, err = stage.create(flatDir, name, p.UnpaddedSize()); err != nil {
			return err
		}
		out.flat = file
	}
	src := &generator{stream: payload.New(seed, p.Index), size: p.PayloadSize}
	root, err := writePiece(ctx, src, p.PaddedSize, out, add)
	if err != nil {
		return err
	}
	if err := identify(p, root); err != nil {
		return err
	}
	if file == nil {
		return nil
	}
	file.final = p.Flat
	return file.finish()
}

// identify gives a piece its CIDs and the name of its flat file. If it has
// them already, they must agree.
func identify(p *piece.Piece, root piececid.Root) error {
	v2, err := piececid.V2(root, p.PayloadSize)
	if err != nil {
		return err
	}
	v1 := v2.V1().String()
	if p.CID == "" {
		p.CID, p.CIDv2, p.Flat = v1, v2.String(), flatDir+"/"+v1
	}
	if p.CID != v1 {
		return fmt.Errorf("piece %d is %s, but the manifest says %s: remove the manifest, and make the dataset again", p.Index, v1, p.CID)
	}
	return nil
}

// finish writes pieces.txt, and the manifest last.
func finish(dir string, m *piece.Manifest) error {
	if err := wholefile.Write(filepath.Join(dir, listName), list(m), 0o644, renameio.IgnoreUmask()); err != nil {
		return err
	}
	return m.Save(filepath.Join(dir, piece.ManifestName))
}

// list returns the content of pieces.txt.
func list(m *piece.Manifest) []byte {
	var b strings.Builder
	for _, p := range m.Pieces {
		fmt.Fprintln(&b, p.CID)
	}
	return []byte(b.String())
}
