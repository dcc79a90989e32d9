// Package vectors makes the data that the scan workload reads: for each site, time
// frame and sensor a vector of samples, compressed with zstd to about half its size.
//
// The same vectors are laid out in two ways. In the layout Files each vector is a file,
// <site>/<frame>/<sensor>. In the layout Packed the vectors of a site and a frame are one
// file, <site>/<frame>: first an index with an entry of 16 bytes for each sensor (the
// vector's offset in the file and its length in bytes, both 64 bits, little-endian), then
// the vectors. Sites, frames and sensors are numbered from 0.
package vectors

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"piecebench/internal/progress"
	"piecebench/internal/wholefile"
	"piecebench/piece/payload"
)

// Samples is how many samples a vector has. Each takes a byte.
const Samples = 1_000_000

// The layouts.
const (
	Files  = "files"
	Packed = "packed"
)

// entrySize is the size of a packed file's index entry, in bytes.
const entrySize = 16

// The shape that the 2023 study of SeaweedFS and GlusterFS had: 8.4 TB of samples.
var study = Shape{Sites: 30, Frames: 40, Sensors: 7000, Chosen: 500}

// Shape is how many vectors there are.
type Shape struct {
	Sites, Frames, Sensors int
	Chosen                 int // sensors that a client reads of a site: one in fourteen
}

// ShapeOf returns the study's shape scaled to a share of its bytes, from 0 to 1. Sites,
// frames and sensors shrink alike, and keep their ratios as far as whole numbers do.
func ShapeOf(scale float64) Shape {
	side := math.Cbrt(scale)
	scaled := func(n int) int { return max(1, int(math.Round(float64(n)*side))) }
	chosen := scaled(study.Chosen)
	return Shape{
		Sites: scaled(study.Sites), Frames: scaled(study.Frames),
		Sensors: chosen * (study.Sensors / study.Chosen), Chosen: chosen,
	}
}

// Vectors returns how many vectors there are.
func (s Shape) Vectors() int64 { return int64(s.Sites) * int64(s.Frames) * int64(s.Sensors) }

// Set is one dataset of vectors.
type Set struct {
	Scale float64
	Seed  uint64
}

// Name names the set's folder in data/objects.
func (s Set) Name() string {
	return "scan-" + strconv.FormatFloat(s.Scale, 'g', -1, 64) + "-" + strconv.FormatUint(s.Seed, 10)
}

// objectsDir is the folder, in a dataset's, of what is not a piece.
const objectsDir = "objects"

// storedShare is how much of a vector's size it takes compressed: 0.505 where measured,
// and a little more, for the check of free space.
const storedShare = 0.52

// StoredBytes returns about how many bytes so many vectors take compressed.
func StoredBytes(vectors int64) int64 { return int64(float64(vectors) * Samples * storedShare) }

// Create makes the set in data/objects/<name>/<layout>, or reuses it. A layout gets its
// name when it is complete: an interrupted or failed Create leaves none.
func (s Set) Create(ctx context.Context, data string, layouts []string, log io.Writer) error {
	for _, layout := range layouts {
		dir := filepath.Join(data, objectsDir, s.Name(), layout)
		if _, err := os.Stat(dir); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := s.create(ctx, dir, layout, log); err != nil {
			return err
		}
	}
	return nil
}

func (s Set) create(ctx context.Context, dir, layout string, log io.Writer) (err error) {
	parent := filepath.Dir(dir)
	objects := filepath.Dir(parent)
	if err := errors.Join(makeDir(objects), makeDir(parent)); err != nil {
		return err
	}
	// The set's folder is locked, so what a killed process left in it is nobody's.
	lock, err := os.Open(parent)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("another process is making %s: wait for its end", parent)
	}
	stage := filepath.Join(parent, "."+layout+".tmp")
	if err := errors.Join(os.RemoveAll(stage), makeDir(stage)); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(stage))
		}
	}()
	if err := checkSpace(stage, StoredBytes(ShapeOf(s.Scale).Vectors())); err != nil {
		return err
	}
	shape := ShapeOf(s.Scale)
	add, done := progress.Print(log, "making "+dir, shape.Vectors()*Samples)
	defer done()
	g, inner := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for site := range shape.Sites {
		folder := filepath.Join(stage, strconv.Itoa(site))
		if err := makeDir(folder); err != nil {
			return err
		}
		for frame := range shape.Frames {
			g.Go(func() error {
				part := filepath.Join(folder, strconv.Itoa(frame))
				first := uint64(site*shape.Frames+frame) * uint64(shape.Sensors)
				vectors := func(each func(sensor int, vector []byte) error) error {
					maker := newMaker(s.Seed)
					for sensor := range shape.Sensors {
						if inner.Err() != nil {
							return inner.Err()
						}
						if err := each(sensor, maker.vector(first+uint64(sensor))); err != nil {
							return err
						}
						add(Samples)
					}
					return nil
				}
				if layout == Packed {
					return writePacked(part, shape.Sensors, vectors)
				}
				return writeFiles(part, vectors)
			})
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := syncAll(stage); err != nil {
		return err
	}
	if err := wholefile.Rename(stage, dir); err != nil {
		return err
	}
	fmt.Fprintf(log, "%s: made %d vectors\n", dir, shape.Vectors())
	return nil
}

func writeFiles(dir string, vectors func(func(int, []byte) error) error) error {
	if err := makeDir(dir); err != nil {
		return err
	}
	return vectors(func(sensor int, vector []byte) error {
		file := filepath.Join(dir, strconv.Itoa(sensor))
		return errors.Join(os.WriteFile(file, vector, 0o644), os.Chmod(file, 0o644))
	})
}

// makeDir makes a folder that servers can read, which run as other users, whatever this
// process's umask is.
func makeDir(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Chmod(dir, 0o755)
}

func writePacked(file string, sensors int, vectors func(func(int, []byte) error) error) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Chmod(0o644), f.Close()) }()
	index := make([]byte, 0, sensors*entrySize)
	offset := int64(cap(index))
	if err := vectors(func(_ int, vector []byte) error {
		index = binary.LittleEndian.AppendUint64(index, uint64(offset))
		index = binary.LittleEndian.AppendUint64(index, uint64(len(vector)))
		n, err := f.WriteAt(vector, offset)
		offset += int64(n)
		return err
	}); err != nil {
		return err
	}
	_, err = f.WriteAt(index, 0)
	return err
}

// maker makes vectors, one after the other.
type maker struct {
	seed    uint64
	encoder *zstd.Encoder
	samples []byte
	stored  []byte
}

func newMaker(seed uint64) *maker {
	// A frame has a checksum of its content: a reader detects every wrong byte.
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true),
		// Samples do not repeat: all that zstd can save is in their distribution.
		zstd.WithAllLitEntropyCompression(true))
	if err != nil {
		panic(err) // only for options that contradict each other
	}
	return &maker{seed: seed, encoder: encoder, samples: make([]byte, Samples)}
}

// streams keeps vectors apart from the pieces of the same seed.
const streams = 1 << 63

// vector returns a compressed vector. It is valid until the next call. Its samples are a
// sensor's noise: normally distributed around 128, of so wide a spread that they hold 4
// bits each.
func (m *maker) vector(number uint64) []byte {
	payload.New(m.seed, streams|number).Fill(m.samples, 0)
	for i, uniform := range m.samples {
		m.samples[i] = noise[uniform]
	}
	m.stored = m.encoder.EncodeAll(m.samples, m.stored[:0])
	return m.stored
}

// spread is the standard deviation with which a normal distribution, rounded to whole
// numbers, has an entropy of 4 bits: 16 / sqrt(2 pi e).
var spread = 16 / math.Sqrt(2*math.Pi*math.E)

// noise maps uniformly distributed bytes to samples: quantiles of the normal distribution.
var noise = func() (table [256]byte) {
	for i := range table {
		quantile := math.Sqrt2 * math.Erfinv((float64(i)+0.5)/128-1)
		table[i] = byte(math.Round(128 + spread*quantile))
	}
	return table
}()

// checkSpace refuses to start where the disk has no room.
func checkSpace(dir string, need int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	if have := int64(st.Bavail) * st.Bsize; need > have {
		return fmt.Errorf("%s needs about %.1f GB, but its disk has %.1f GB free: free some, or choose a smaller SCALE",
			path.Dir(dir), float64(need)/1e9, float64(have)/1e9)
	}
	return nil
}

// syncAll writes all of a file system to its disk: so many files are not synced one by one.
func syncAll(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return unix.Syncfs(int(d.Fd()))
}
