// Package testset writes small datasets for tests, with real piece CIDs and
// flat files.
package testset

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"piecebench/piece"
	"piecebench/piece/dataset"
)

// Write makes a dataset of n pieces of this padded size in dir, and returns
// the path of its manifest.
func Write(tb testing.TB, dir string, n int, paddedSize int64) (string, *piece.Manifest) {
	tb.Helper()
	m, err := dataset.Create(tb.Context(), dir, dataset.Params{Pieces: n, PieceSize: paddedSize, Seed: 1}, io.Discard)
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(dir, piece.ManifestName), m
}

// Import makes a dataset in dir of n imported files of this many bytes, which
// no generator knows, and returns the path of its manifest.
func Import(tb testing.TB, dir string, n, size int) (string, *piece.Manifest) {
	tb.Helper()
	var names []string
	for i := range n {
		data := make([]byte, size)
		rand.NewChaCha8([32]byte{byte(i)}).Read(data)
		name := filepath.Join(tb.TempDir(), fmt.Sprint(i))
		if err := os.WriteFile(name, data, 0o644); err != nil {
			tb.Fatal(err)
		}
		names = append(names, name)
	}
	m, err := dataset.Import(tb.Context(), dir, names, false, io.Discard)
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(dir, piece.ManifestName), m
}
