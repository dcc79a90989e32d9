package dataset

import "fmt"

// Folders and files of a dataset, beside piece.ManifestName.
const (
	flatDir     = "flat"
	sectorDir   = "sectors"
	checksumDir = "checksums" // of imported pieces
	listName    = "pieces.txt"
)

// sectorSize is how much one sector file holds, in bytes, unless a single
// piece needs more: Filecoin's sectors are of 32 GiB or 64 GiB.
const sectorSize = 32 << 30

// place is where a piece lies.
type place struct {
	sector string // path in the dataset
	offset int64
}

// layout places pieces of these padded sizes in sectors, one after the other,
// each at a multiple of its own size, as Filecoin does.
func layout(sizes []int64) []place {
	places := make([]place, len(sizes))
	number, end := 0, int64(0)
	for i, size := range sizes {
		offset := (end + size - 1) / size * size
		if offset > 0 && offset+size > sectorSize {
			number, offset = number+1, 0
		}
		places[i] = place{sector: sectorName(number), offset: offset}
		end = offset + size
	}
	return places
}

// sectorName returns the path of a sector file: miner t01000, the first one of
// every Filecoin network.
func sectorName(number int) string { return fmt.Sprintf("%s/s-t01000-%d", sectorDir, number) }
