// Package testset writes small datasets for tests, with real piece CIDs and
// flat files.
package testset

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"piecebench/piece"
	"piecebench/piece/commp"
	"piecebench/piece/dataset"
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
	m, err := dataset.Import(context.Background(), dir, names, io.Discard)
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(dir, piece.ManifestName), m
}
