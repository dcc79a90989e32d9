package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"piecebench/internal/progress"
	"piecebench/piece"
	"piecebench/piece/piececid"
)

// Import makes a dataset in dir of copies of existing files, one piece each:
// CAR files, or any others. With link it copies nothing: the flat files are symbolic
// links, there are no sectors, and the pieces are served without the zeros that would
// fill them up (piece.Piece.PayloadOnly). It refuses a dir that holds a dataset. After
// an interruption it leaves what Create leaves.
func Import(ctx context.Context, dir string, names []string, link bool, log io.Writer) (m *piece.Manifest, err error) {
	if len(names) == 0 {
		return nil, errors.New("no files to import")
	}
	m, total, err := importPlan(names, link)
	if err != nil {
		return nil, err
	}
	unlock, err := lock(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if _, err := os.Lstat(filepath.Join(dir, piece.ManifestName)); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s already holds a dataset: choose another --dir, or remove it", dir)
	}
	need := total / 64
	if !link { // payloads are written twice, flat and padded, with holes for the rest
		need += 2 * total
	}
	if err := checkSpace(dir, need, 0); err != nil {
		return nil, err
	}

	stage := &staging{dir: dir, links: map[string]string{}}
	defer stage.discard()
	sectors, err := createSectors(stage, m, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	add, done := progress.Print(log, "importing into "+dir, total)
	defer done()
	byCID := make(map[string]string)
	for i := range m.Pieces {
		p := &m.Pieces[i]
		if err := importFile(ctx, stage, names[i], p, sectors[p.Sector], link, add); err != nil {
			return nil, err
		}
		if first, ok := byCID[p.CID]; ok {
			return nil, fmt.Errorf("%s is the same piece as %s: %s", names[i], first, p.CID)
		}
		byCID[p.CID] = names[i]
	}
	for _, f := range sectors {
		if err := f.finish(); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := stage.commit(); err != nil {
		return nil, err
	}
	return m, finish(dir, m)
}

// importPlan returns the manifest as far as the files' sizes tell it, and the
// sum of these.
func importPlan(names []string, link bool) (m *piece.Manifest, total int64, err error) {
	m = &piece.Manifest{Version: piece.ManifestVersion}
	var sizes []int64
	for i, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, 0, err
		}
		if !info.Mode().IsRegular() {
			return nil, 0, fmt.Errorf("%s is not a regular file", name)
		}
		padded, err := piececid.PaddedSize(info.Size())
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", name, err)
		}
		if padded > MaxPieceSize {
			return nil, 0, fmt.Errorf("%s: %d bytes do not fit into the largest piece", name, info.Size())
		}
		p := piece.Piece{Index: uint64(i), PayloadSize: info.Size(), PaddedSize: padded}
		p.PayloadOnly = link && p.PayloadSize != p.UnpaddedSize()
		m.Pieces = append(m.Pieces, p)
		sizes = append(sizes, padded)
		total += info.Size()
	}
	if link {
		return m, total, nil
	}
	for i, at := range layout(sizes) {
		m.Pieces[i].Sector, m.Pieces[i].SectorOffset = at.sector, at.offset
	}
	return m, total, nil
}

func importFile(ctx context.Context, stage *staging, name string, p *piece.Piece, sector *stagedFile, link bool, add func(int64)) error {
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	var flat *stagedFile
	src, out := &reader{r: in}, output{}
	if !link {
		if flat, err = stage.create(flatDir, fmt.Sprint("piece-", p.Index), p.UnpaddedSize()); err != nil {
			return err
		}
		out = output{flat: flat, sector: sector, sectorOffset: p.SectorOffset}
	}
	root, err := writePiece(ctx, src, p.PaddedSize, out, add)
	if err == nil && src.size != p.PayloadSize {
		err = fmt.Errorf("it changed from %d to %d bytes while it was read", p.PayloadSize, src.size)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := identify(p, root); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var sums []byte
	sums, p.ChecksumFile = src.sums.Finish(checksumDir + "/" + p.CID)
	file, err := stage.create(checksumDir, p.CID, int64(len(sums)))
	if err != nil {
		return err
	}
	if _, err := file.Write(sums); err != nil {
		return err
	}
	if link {
		target, err := filepath.Abs(name)
		stage.links[p.Flat] = target
		return errors.Join(err, file.finish())
	}
	flat.final = p.Flat
	return errors.Join(flat.finish(), file.finish())
}
