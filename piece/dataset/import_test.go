package dataset_test

import (
	"bytes"
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"piecebench/piece"
	"piecebench/piece/commp"
	"piecebench/piece/dataset"
)

// randomFile makes a file whose bytes no generator knows.
func randomFile(t *testing.T, name string, size int) string {
	t.Helper()
	data := make([]byte, size)
	rand.NewChaCha8([32]byte{byte(size), byte(size >> 8)}).Read(data)
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func importFiles(dir string, names ...string) (*piece.Manifest, error) {
	return dataset.Import(context.Background(), dir, names, false, new(bytes.Buffer))
}

func TestImportedFilesAreWholePieces(t *testing.T) {
	dir := t.TempDir()
	var names []string
	for _, size := range []int{65, 1_000_000, commp.PartPayload, 3_500_000, 200, 5_000_001} {
		names = append(names, randomFile(t, "some.car", size))
	}
	m, err := importFiles(dir, names...)
	if err != nil {
		t.Fatal(err)
	}
	if faults := verify(t, dir); faults != "" {
		t.Errorf("Verify: %s", faults)
	}
	loaded, err := piece.Load(filepath.Join(dir, "pieces.json"))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := commp.Sum(bytes.NewReader(want))
		if p := loaded.Pieces[i]; err != nil || p.CID != m.Pieces[i].CID || p.CIDv2 != c.String() || p.PayloadSize != int64(len(want)) {
			t.Errorf("%d bytes: piece %+v, %v; want %v", len(want), p, err, c)
		}
		flat, err := os.ReadFile(filepath.Join(dir, m.Pieces[i].Flat))
		if err != nil || int64(len(flat)) != m.Pieces[i].UnpaddedSize() || !bytes.Equal(flat[:len(want)], want) {
			t.Errorf("%d bytes: flat file of %d bytes differs, %v", len(want), len(flat), err)
		}
	}
}

func TestVerifyNamesFaultsOfImportedPieces(t *testing.T) {
	dir := t.TempDir()
	m, err := importFiles(dir, randomFile(t, "a", 2_500_000), randomFile(t, "b", 5_000_001))
	if err != nil {
		t.Fatal(err)
	}
	a, b := m.Pieces[0], m.Pieces[1]
	for path, spoil := range map[string]func(string) error{
		a.Flat:   flip(1 << 20),            // block 64
		b.Flat:   flip(6_000_000),          // zeros after the payload
		b.Sector: flip(b.SectorOffset + 3), // first block
	} {
		if err := spoil(filepath.Join(dir, path)); err != nil {
			t.Fatal(err)
		}
	}
	faults := verify(t, dir)
	for _, want := range []string{
		a.Flat + ": piece " + a.CID + ": wrong checksum of the 16384 bytes at offset 1048576",
		b.Flat + ": piece " + b.CID + ": byte 6000000 is 0x01, want 0x00",
		b.Sector + ": piece " + b.CID + ": wrong checksum of the 16384 bytes at offset 0",
	} {
		if !strings.Contains(faults, want) {
			t.Errorf("missing: %s", want)
		}
	}
	if n := strings.Count(faults, "\n") + 1; n != 3 {
		t.Errorf("%d faults, want 3:\n%s", n, faults)
	}
}

func TestVerifyNamesDamagedChecksumsOnce(t *testing.T) {
	dir := t.TempDir()
	m, err := importFiles(dir, randomFile(t, "a", 2_500_000), randomFile(t, "b", 1_000_000))
	if err != nil {
		t.Fatal(err)
	}
	sums := m.Pieces[0].ChecksumFile.Path
	if err := flip(100)(filepath.Join(dir, sums)); err != nil {
		t.Fatal(err)
	}
	if faults := verify(t, dir); strings.Count(faults, "\n") != 0 || !strings.HasPrefix(faults, sums+": ") || !strings.Contains(faults, "damaged") {
		t.Errorf("faults: %s", faults)
	}
}

func TestImportRefuses(t *testing.T) {
	a, b := randomFile(t, "a", 1000), randomFile(t, "b", 1000)
	tiny := randomFile(t, "tiny", 64)
	used := t.TempDir()
	create(t, used, dataset.Params{Pieces: 1, PieceSize: 128, Seed: 1})
	for name, v := range map[string]struct {
		dir   string
		files []string
		says  string
	}{
		"no files":        {t.TempDir(), nil, "no files"},
		"no such file":    {t.TempDir(), []string{a, "/no/such/file"}, "/no/such/file"},
		"a folder":        {t.TempDir(), []string{t.TempDir()}, "not a regular file"},
		"a tiny file":     {t.TempDir(), []string{tiny}, "64 bytes"},
		"the same twice":  {t.TempDir(), []string{a, b}, "the same piece"},
		"a dataset there": {used, []string{a}, "already holds a dataset"},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(snapshot(t, v.dir))
			_, err := importFiles(v.dir, v.files...)
			if err == nil || !strings.Contains(err.Error(), v.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, v.says)
			}
			if left := snapshot(t, v.dir); len(left) != before {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func TestImportedDatasetIsNeverOverwritten(t *testing.T) {
	dir := t.TempDir()
	if _, err := importFiles(dir, randomFile(t, "a", 1_500_000)); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(dir, "pieces.json")
	whole, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"whole manifest": whole, "broken manifest": whole[:len(whole)-20]} {
		if err := os.WriteFile(manifest, text, 0o644); err != nil {
			t.Fatal(err)
		}
		before := snapshot(t, dir)
		_, err := dataset.Create(context.Background(), dir, small, new(bytes.Buffer))
		if err == nil || !strings.Contains(err.Error(), "import") {
			t.Errorf("%s: error %v", name, err)
		}
		for path, is := range snapshot(t, dir) {
			if before[path] != is {
				t.Errorf("%s: %s changed", name, path)
			}
		}
	}
}

// A linked file is served and verified where it lies: what the dataset takes of the disk is its
// checksums and lists, a thousandth of the file.
func TestLinkedFilesAreNotCopied(t *testing.T) {
	const size = 40_000_001
	file, dir := randomFile(t, "some.car", size), t.TempDir()
	m, err := dataset.Import(context.Background(), dir, []string{file}, true, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	p := m.Pieces[0]
	flat := filepath.Join(dir, p.Flat)
	if target, err := os.Readlink(flat); err != nil || target != file || p.Sector != "" || p.SizeAs(1) != size {
		t.Errorf("%+v leads to %s, %v", p, target, err)
	}
	var taken int64
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			info, _ := d.Info()
			taken += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return err
	}); err != nil || taken > size/500 {
		t.Errorf("the dataset takes %d bytes of the disk, %v", taken, err)
	}
	t.Logf("not copied: %d bytes; taken of the disk: %d", 2*size, taken)

	// The same piece as a copy's, which has the same checksums.
	other, err := importFiles(t.TempDir(), file)
	if err != nil || other.Pieces[0].CIDv2 != p.CIDv2 || other.Pieces[0].ChecksumFile.SHA256 != p.ChecksumFile.SHA256 {
		t.Errorf("%+v, %v; want %+v", other, err, p)
	}
	if faults := verify(t, dir); faults != "" {
		t.Errorf("Verify: %s", faults)
	}
	if err := flip(size - 1)(file); err != nil {
		t.Fatal(err)
	}
	if faults := verify(t, dir); !strings.Contains(faults, p.Flat) {
		t.Errorf("Verify of a file that changed: %q", faults)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if faults := verify(t, dir); !strings.Contains(faults, "missing") {
		t.Errorf("Verify of a file that is gone: %q", faults)
	}
}
