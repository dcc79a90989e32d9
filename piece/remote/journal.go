package remote

import (
	"encoding/binary"
	"errors"
	"io"
	"os"

	"github.com/cespare/xxhash/v2"

	"piecebench/piece"
	"piecebench/piece/commp"
	"piecebench/piece/piececid"
)

// A unit is the smallest stretch of payload that is whole parts of a piece's tree and
// whole blocks of checksums: 2 parts, 127 blocks, 2080768 bytes.
const (
	unitSize  = unitParts * commp.PartPayload
	unitParts = 2
	rootSize  = 32
	// What a journal has of a unit: the checksums, the parts' roots, and the xxhash64
	// of both.
	unitSums   = unitSize / piece.ChecksumBlock * 8
	unitRecord = unitSums + unitParts*rootSize + 8
)

// unit is what is kept of a stretch of payload.
type unit struct {
	sums  []byte
	roots []piececid.Root
}

// journal is the file of the units at a payload's start that are done. It survives
// the process: a record that was cut off, or did not reach the disk, ends it.
type journal struct {
	file  *os.File
	units int64
}

// openJournal opens a journal, or makes an empty one. It keeps at most so many units.
func openJournal(path string, most int64) (*journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	j := &journal{file: f}
	err = j.each(func(unit) { j.units++ })
	j.units = min(j.units, most)
	if err := errors.Join(err, f.Truncate(j.units*unitRecord)); err != nil {
		f.Close()
		return nil, err
	}
	return j, nil
}

// offset is where the payload goes on, in bytes.
func (j *journal) offset() int64 { return j.units * unitSize }

func (j *journal) append(u unit) error {
	record := append([]byte(nil), u.sums...)
	for _, root := range u.roots {
		record = append(record, root[:]...)
	}
	record = binary.BigEndian.AppendUint64(record, xxhash.Sum64(record))
	if _, err := j.file.WriteAt(record, j.units*unitRecord); err != nil {
		return err
	}
	j.units++
	return nil
}

// each hands over the units in order, up to the first that is not whole.
func (j *journal) each(do func(unit)) error {
	r := io.NewSectionReader(j.file, 0, 1<<62)
	record := make([]byte, unitRecord)
	for {
		_, err := io.ReadFull(r, record)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
		body := record[:unitRecord-8]
		if xxhash.Sum64(body) != binary.BigEndian.Uint64(record[unitRecord-8:]) {
			return nil
		}
		u := unit{sums: body[:unitSums]}
		for at := unitSums; at < len(body); at += rootSize {
			u.roots = append(u.roots, piececid.Root(body[at:]))
		}
		do(u)
	}
}
