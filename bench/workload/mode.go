package workload

import (
	"cmp"
	"fmt"

	"piecebench/piece/bytesize"
)

// FullMode is the name of the mode in which a request asks for a whole piece.
const FullMode = "full"

// Mode is one way in which a workload runs.
type Mode struct {
	Name     string // FullMode, a range's size such as 1MiB, or what the workload calls it
	Length   int64  // bytes of a range that a client draws; 0 for the whole piece
	Requests int    // that one unit of work has, a request or a job; 0: not known beforehand
	Bytes    int64  // that a job asks for, where its requests are not drawn
}

// RequestBytes returns how many bytes a drawn request asks for, of a piece of so many
// bytes.
func (m Mode) RequestBytes(piece int64) int64 { return cmp.Or(m.Length, piece) }

// UnitBytes returns how many bytes a unit of work asks for, 0 where that is not known
// beforehand.
func (m Mode) UnitBytes(piece int64) int64 {
	return cmp.Or(m.Bytes, int64(m.Requests)*m.RequestBytes(piece))
}

// request reads the mode of a workload whose unit of work is one request.
func request(text string) (Mode, error) {
	if text == FullMode {
		return Mode{Name: FullMode, Requests: 1}, nil
	}
	n, err := bytesize.Parse(text)
	if err != nil {
		return Mode{}, fmt.Errorf("want full or a range size: %w", err)
	}
	return Mode{Name: bytesize.String(n), Length: n, Requests: 1}, nil
}
