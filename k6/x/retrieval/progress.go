package retrieval

import (
	"encoding/json"
	"fmt"
	"os"

	"piecebench/records"
)

// progressWriter writes a line of JSON a second.
type progressWriter struct {
	f   *os.File
	enc *json.Encoder
}

func createProgress(path string) (*progressWriter, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("progress: %w", err)
	}
	return &progressWriter{f, json.NewEncoder(f)}, nil
}

// write adds a line in one write, so that a reader never sees half of one.
func (w *progressWriter) write(p records.Progress) error {
	if err := w.enc.Encode(p); err != nil {
		return fmt.Errorf("progress: %w", err)
	}
	return nil
}

func (w *progressWriter) close() error { return w.f.Close() }
