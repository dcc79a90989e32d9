package dataset_test

import (
	"io"
	"testing"

	"piecebench/piece/commp"
	"piecebench/piece/dataset"
	"piecebench/piece/payload"
)

// defaultCIDs are the piece CIDs v1 of dataset.Default. Those of the first and
// the last piece were computed independently, too: openssl enc -aes-128-ctr
// into npm's fr32-sha2-256-trunc254-padded-binary-tree-multihash 3.3.0.
var defaultCIDs = []string{
	"baga6ea4seaqlpczdhdsjxwrd5hpbtcntv5cqwxveu3jfscgjcuv3ioohtmoukji",
	"baga6ea4seaqarhdtudtohxg3iidoshvvm4teoaewk5cenbi6nqfvrkgm744wibq",
	"baga6ea4seaqp3kf2mkbin4mmsba55nexoenu5x7w6jflybjripktx6fg3bed2ha",
	"baga6ea4seaqihafxg4fordmr2dfqtqy5qkte5lflbssixjy3hsfiliujy36xmaq",
}

// streamReader reads a generated payload from its start.
type streamReader struct {
	stream *payload.Stream
	at     int64
}

func (r *streamReader) Read(p []byte) (int, error) {
	r.stream.Fill(p, r.at)
	r.at += int64(len(p))
	return len(p), nil
}

func TestDefaultDatasetIsPinned(t *testing.T) {
	d := dataset.Default
	if d.Pieces != len(defaultCIDs) {
		t.Fatalf("%d pieces by default, %d pinned", d.Pieces, len(defaultCIDs))
	}
	pieces := defaultCIDs
	if testing.Short() {
		pieces = pieces[:1]
		t.Log("-short: SKIPPED all pieces but the first")
	}
	for i, want := range pieces {
		r := &streamReader{stream: payload.New(d.Seed, uint64(i))}
		c, err := commp.Sum(io.LimitReader(r, d.PieceSize/128*127))
		if err != nil || c.V1().String() != want {
			t.Errorf("piece %d is %s, %v; want %s", i, c.V1(), err, want)
		}
	}
}

// TestSmallDatasetIsPinned has its CIDs from openssl and npm's
// @web3-storage/data-segment 5.3.0.
func TestSmallDatasetIsPinned(t *testing.T) {
	m, _ := create(t, t.TempDir(), small)
	for i, want := range []string{
		"bafkzcibcaaiu6lanitue557iwpja5colv4p7onexwaeh47vyyfbci6wbaviukiq",
		"bafkzcibcaai3onww5xao5n2vnzj2frxkmnrl5iw54gtpnaxpqdhizk766fzsqei",
		"bafkzcibcaaiwmlwalxh52zkivpa2wnorwxjvtqzavistqswukshgxmwktf5jepq",
	} {
		if got := m.Pieces[i].CIDv2; got != want {
			t.Errorf("piece %d is %s, want %s", i, got, want)
		}
	}
}
