// Package testset makes small datasets for tests, with real piece CIDs.
package testset

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
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

// Dataset is a dataset of imported files, whose bytes no generator knows.
type Dataset struct {
	Dir      string
	Path     string // of the manifest
	Manifest *piece.Manifest
}

// Import makes a dataset in dir of files of these sizes, in bytes. All pieces lie in one sector,
// at aligned offsets with gaps before them where alignment asks for it.
func Import(tb testing.TB, dir string, payloadSizes ...int64) Dataset {
	tb.Helper()
	files := tb.TempDir()
	var names []string
	for i, size := range payloadSizes {
		name := filepath.Join(files, fmt.Sprint(i))
		if err := os.WriteFile(name, random(uint64(i), size), 0o644); err != nil {
			tb.Fatal(err)
		}
		names = append(names, name)
	}
	m, err := dataset.Import(tb.Context(), dir, names, false, io.Discard)
	if err != nil {
		tb.Fatal(err)
	}
	return Dataset{Dir: dir, Path: filepath.Join(dir, piece.ManifestName), Manifest: m}
}

// Bytes returns the bytes of a piece that a v1 CID names.
func (d Dataset) Bytes(p piece.Piece) []byte {
	return append(random(p.Index, p.PayloadSize), make([]byte, p.UnpaddedSize()-p.PayloadSize)...)
}

func random(index uint64, size int64) []byte {
	data := make([]byte, size)
	rand.NewChaCha8([32]byte{byte(index)}).Read(data)
	return data
}

// Serve serves the pieces of the dataset in dir under /piece/, wrapped by serve unless
// that is nil, and returns the server's address.
func Serve(tb testing.TB, dir string, serve func(files http.Handler) http.Handler) string {
	tb.Helper()
	files := http.StripPrefix("/piece/", http.FileServer(http.Dir(filepath.Join(dir, "flat"))))
	if serve != nil {
		files = serve(files)
	}
	srv := httptest.NewServer(files)
	tb.Cleanup(srv.Close)
	tb.Cleanup(srv.CloseClientConnections)
	return srv.URL
}
