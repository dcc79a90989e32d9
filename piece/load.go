package piece

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/google/renameio/v2"

	"piecebench/internal/wholefile"
)

// ManifestName is the manifest's file name in a dataset's folder.
const ManifestName = "pieces.json"

// Load reads a manifest and validates it. Its errors are one line, and name
// the file and, where it is one piece's fault, the piece.
func Load(path string) (*Manifest, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("manifest: %w: make a dataset with piecebench dataset create", err)
	}
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	m, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("manifest %s: %w", path, err)
	}
	return m, nil
}

// decode refuses unknown fields: the version changes when fields do, so they
// are misspellings.
func decode(data []byte) (*Manifest, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	m := new(Manifest)
	if err := dec.Decode(m); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("empty file")
		}
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("not JSON: %w, near byte %d", err, dec.InputOffset())
		}
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("text after the JSON object, near byte %d", dec.InputOffset())
	}
	return m, m.Validate()
}

// Save validates the manifest, sets its Version, and writes it under a temporary name, which it
// then renames to path: a reader sees the old file, or all of the new one.
func (m *Manifest) Save(path string) (err error) {
	if err := m.Validate(); err != nil {
		return fmt.Errorf("manifest %s, not written: %w", path, err)
	}
	m.Version = 1
	if slices.ContainsFunc(m.Pieces, func(p Piece) bool { return p.ChecksumFile != nil }) {
		m.Version = 2
	}
	if slices.ContainsFunc(m.Pieces, func(p Piece) bool { return p.Remote() || p.PayloadOnly }) {
		m.Version = 3
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return wholefile.Write(path, append(data, '\n'), 0o644, renameio.IgnoreUmask())
}
