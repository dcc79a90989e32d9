package vectors

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestShapeIsTheStudysAtScaleOne(t *testing.T) {
	if got := ShapeOf(1); got != study {
		t.Errorf("%+v, want %+v", got, study)
	}
	if got := ShapeOf(1).Vectors(); got != 8_400_000 {
		t.Errorf("%d vectors, want 8.4 million", got)
	}
}

func TestAScaledShapeKeepsTheRatios(t *testing.T) {
	for _, scale := range []float64{0.5, 0.1, 0.01, 0.001} {
		got := ShapeOf(scale)
		if got.Sensors != 14*got.Chosen {
			t.Errorf("scale %g: a client reads %d of %d sensors, want one in 14", scale, got.Chosen, got.Sensors)
		}
		// Rounding to whole sites is the largest error.
		if share := float64(got.Vectors()) / float64(study.Vectors()) / scale; math.Abs(share-1) > 0.25 {
			t.Errorf("scale %g: %+v has %.2f times the bytes that it should", scale, got, share)
		}
	}
}

// tiny is the smallest set: one site, one frame, 14 sensors.
var tiny = Set{Scale: 1e-9, Seed: 1}

func TestBothLayoutsHoldTheSameVectors(t *testing.T) {
	data := t.TempDir()
	if err := tiny.Create(t.Context(), data, []string{Files, Packed}, io.Discard); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(data, "objects", tiny.Name())
	packed, err := os.ReadFile(filepath.Join(root, Packed, "0", "0"))
	if err != nil {
		t.Fatal(err)
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	var stored int
	seen := map[string]bool{}
	for sensor := range ShapeOf(tiny.Scale).Sensors {
		file, err := os.ReadFile(filepath.Join(root, Files, "0", "0", strconv.Itoa(sensor)))
		if err != nil {
			t.Fatal(err)
		}
		entry := packed[sensor*entrySize:]
		offset, length := binary.LittleEndian.Uint64(entry), binary.LittleEndian.Uint64(entry[8:])
		if !bytes.Equal(packed[offset:offset+length], file) {
			t.Fatalf("sensor %d differs between the layouts", sensor)
		}
		samples, err := decoder.DecodeAll(file, nil)
		if err != nil || len(samples) != Samples {
			t.Fatalf("sensor %d: %d samples, %v", sensor, len(samples), err)
		}
		if seen[string(samples)] {
			t.Fatalf("sensor %d is like another one", sensor)
		}
		seen[string(samples)] = true
		stored += len(file)
	}
	share := float64(stored) / float64(len(seen)*Samples)
	t.Logf("a vector takes %.4f of its samples' bytes", share)
	if share < 0.45 || share > storedShare {
		t.Errorf("a vector takes %.4f of its samples' bytes, want about half", share)
	}
	if got := int64(len(packed)); got > StoredBytes(ShapeOf(tiny.Scale).Vectors()) {
		t.Errorf("the packed layout takes %d bytes, more than the %d that are asked for", got, StoredBytes(ShapeOf(tiny.Scale).Vectors()))
	}
}

func TestAnInterruptedSetIsNotThere(t *testing.T) {
	data := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tiny.Create(ctx, data, []string{Packed}, io.Discard); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(data, "objects", tiny.Name(), "*")); err != nil || len(left) > 0 {
		t.Fatalf("left %v, %v", left, err)
	}
	if left, err := filepath.Glob(filepath.Join(data, "objects", tiny.Name(), ".*")); err != nil || len(left) > 0 {
		t.Fatalf("left %v, %v", left, err)
	}
}

func TestWhatAKilledProcessLeftIsMadeAgain(t *testing.T) {
	data := t.TempDir()
	stale := filepath.Join(data, "objects", tiny.Name(), "."+Packed+".tmp")
	if err := os.MkdirAll(filepath.Join(stale, "0"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := tiny.Create(t.Context(), data, []string{Packed}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", stale, err)
	}
	before, err := os.Stat(filepath.Join(data, "objects", tiny.Name(), Packed, "0", "0"))
	if err != nil {
		t.Fatal(err)
	}
	if err := tiny.Create(t.Context(), data, []string{Packed}, io.Discard); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(filepath.Join(data, "objects", tiny.Name(), Packed, "0", "0"))
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("a complete set was made again (%v)", err)
	}
}
