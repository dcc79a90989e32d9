// Package testset writes small datasets for tests, with real piece CIDs and
// flat files.
package testset

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"piecebench/piece"
	"piecebench/piece/commp"
	"piecebench/piece/payload"
)

// Write makes a dataset of n pieces of this padded size in dir, and returns
// the path of its manifest.
func Write(tb testing.TB, dir string, n int, paddedSize int64) (string, *piece.Manifest) {
	tb.Helper()
	m := &piece.Manifest{Version: piece.ManifestVersion, Seed: 1}
	for i := range n {
		data := make([]byte, paddedSize/128*127)
		payload.New(m.Seed, uint64(i)).Fill(data, 0)
		v2, err := commp.Sum(bytes.NewReader(data))
		if err != nil {
			tb.Fatal(err)
		}
		p := piece.Piece{
			Index: uint64(i), CID: v2.V1().String(), CIDv2: v2.String(),
			PayloadSize: int64(len(data)), PaddedSize: paddedSize,
		}
		p.Flat = filepath.Join("flat", p.CID)
		if err := os.MkdirAll(filepath.Join(dir, "flat"), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, p.Flat), data, 0o644); err != nil {
			tb.Fatal(err)
		}
		m.Pieces = append(m.Pieces, p)
	}
	path := filepath.Join(dir, piece.ManifestName)
	if err := m.Save(path); err != nil {
		tb.Fatal(err)
	}
	if err := m.Validate(); err != nil {
		tb.Fatal(fmt.Errorf("test dataset: %w", err))
	}
	return path, m
}
