package dataset_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"piecebench/piece"
	"piecebench/piece/dataset"
	"piecebench/piece/fr32"
	"piecebench/piece/payload"
)

// small is a dataset of pieces of several parts each.
var small = dataset.Params{Pieces: 3, PieceSize: 4 << 20, Seed: 1}

// create makes a dataset that must come out right, and returns what it said.
func create(t *testing.T, dir string, p dataset.Params) (*piece.Manifest, string) {
	t.Helper()
	var log bytes.Buffer
	m, err := dataset.Create(context.Background(), dir, p, &log)
	if err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	return m, log.String()
}

// verify returns the faults of a dataset, one a line.
func verify(t *testing.T, dir string) string {
	t.Helper()
	_, faults, err := dataset.Verify(context.Background(), dir, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range faults {
		lines = append(lines, f.String())
	}
	return strings.Join(lines, "\n")
}

// snapshot returns path, size, inode and time of all that is in dir.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		all[rel] = fmt.Sprint(info.Size(), info.ModTime(), info.Sys().(*syscall.Stat_t).Ino)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestCreatedFilesHoldTheGeneratedPieces(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "data")
	m, _ := create(t, dir, small)
	for i, p := range m.Pieces {
		want := make([]byte, p.UnpaddedSize())
		payload.New(1, uint64(i)).Fill(want, 0)
		flat, err := os.ReadFile(filepath.Join(dir, "flat", p.CID))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(flat, want) {
			t.Errorf("flat file of piece %d differs", i)
		}
		sector, err := os.ReadFile(filepath.Join(dir, "sectors", "s-t01000-0"))
		if err != nil {
			t.Fatal(err)
		}
		padded := make([]byte, p.PaddedSize)
		fr32.Pad(padded, want)
		if at := i * 4 << 20; !bytes.Equal(sector[at:at+4<<20], padded) {
			t.Errorf("sector at %d differs from piece %d", at, i)
		}
	}
	list, err := os.ReadFile(filepath.Join(dir, "pieces.txt"))
	if want := m.Pieces[0].CID + "\n" + m.Pieces[1].CID + "\n" + m.Pieces[2].CID + "\n"; err != nil || string(list) != want {
		t.Errorf("pieces.txt: %q, %v; want %q", list, err, want)
	}
	if faults := verify(t, dir); faults != "" {
		t.Errorf("Verify: %s", faults)
	}
}

func TestFilesAreWorldReadableWhateverTheUmask(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	dir := filepath.Join(t.TempDir(), "data")
	create(t, dir, dataset.Params{Pieces: 1, PieceSize: 128, Seed: 1})
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		want := fs.FileMode(0o644)
		if d.IsDir() {
			want = 0o755
		}
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v; want %v", path, info.Mode().Perm(), err, want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCompleteDatasetIsReusedUntouched(t *testing.T) {
	dir := t.TempDir()
	create(t, dir, small)
	before := snapshot(t, dir)
	_, said := create(t, dir, small)
	if strings.Count(said, "\n") != 1 || !strings.Contains(said, "reusing") {
		t.Errorf("said %q, want one line of reusing it", said)
	}
	for path, was := range before {
		if now := snapshot(t, dir)[path]; now != was {
			t.Errorf("%s changed: %s, was %s", path, now, was)
		}
	}
}

func TestOnlyWhatIsBrokenIsRebuilt(t *testing.T) {
	const sector = "sectors/s-t01000-0"
	for name, v := range map[string]struct {
		file  func(m *piece.Manifest) string
		spoil func(path string) error
		says  string
	}{
		"flat missing":    {func(m *piece.Manifest) string { return m.Pieces[1].Flat }, os.Remove, "missing"},
		"flat cut":        {func(m *piece.Manifest) string { return m.Pieces[1].Flat }, func(p string) error { return os.Truncate(p, 1000) }, "1000 bytes long"},
		"flat, a byte":    {func(m *piece.Manifest) string { return m.Pieces[2].Flat }, flip(3_000_001), "byte 3000001 is"},
		"flat, old time":  {func(m *piece.Manifest) string { return m.Pieces[0].Flat }, old(flip(0)), "byte 0 is"},
		"sector missing":  {func(*piece.Manifest) string { return sector }, os.Remove, "missing"},
		"sector cut":      {func(*piece.Manifest) string { return sector }, func(p string) error { return os.Truncate(p, 9<<20) }, "9437184 bytes long"},
		"sector, a byte":  {func(*piece.Manifest) string { return sector }, flip(5 << 20), "byte "},
		"sector, pad bit": {func(*piece.Manifest) string { return sector }, set(4<<20+31, 0xff), "top two bits"},
		"list missing":    {func(*piece.Manifest) string { return "pieces.txt" }, os.Remove, "pieces.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			m, _ := create(t, dir, small)
			before := snapshot(t, dir)
			file := v.file(m)
			if err := v.spoil(filepath.Join(dir, file)); err != nil {
				t.Fatal(err)
			}
			if faults := verify(t, dir); !strings.Contains(faults, file) || !strings.Contains(faults, v.says) || strings.Contains(faults, "\n") {
				t.Errorf("Verify finds %q, want one fault of %s that says %q", faults, file, v.says)
			}
			_, said := create(t, dir, small)
			if !strings.Contains(said, filepath.Join(dir, file)) || !strings.Contains(said, v.says) && v.says != "byte " {
				t.Errorf("said %q, want %s and %q", said, file, v.says)
			}
			if faults := verify(t, dir); faults != "" {
				t.Errorf("after rebuilding: %s", faults)
			}
			after := snapshot(t, dir)
			for path, was := range before {
				kept := path != file && path != "pieces.json" && path != "pieces.txt"
				if kept && after[path] != was {
					t.Errorf("%s was rewritten, too", path)
				}
			}
			if len(after) != len(before) {
				t.Errorf("files after: %v", after)
			}
		})
	}
}

func flip(at int64) func(string) error {
	return func(path string) error {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		var b [1]byte
		if _, err := f.ReadAt(b[:], at); err != nil {
			return err
		}
		_, err = f.WriteAt([]byte{b[0] ^ 1}, at)
		return errors.Join(err, later(path))
	}
}

// later dates a file after its manifest: file times have ticks, and a test
// runs within one.
func later(path string) error {
	at := time.Now().Add(time.Second)
	return os.Chtimes(path, at, at)
}

func set(at int64, value byte) func(string) error {
	return func(path string) error {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteAt([]byte{value}, at)
		return errors.Join(err, later(path))
	}
}

// old spoils a file, and hides it from a look at its time.
func old(spoil func(string) error) func(string) error {
	return func(path string) error {
		past := time.Now().Add(-time.Hour)
		return errors.Join(spoil(path), os.Chtimes(path, past, past))
	}
}

func TestTouchedButRightFilesAreCheckedOnceInFull(t *testing.T) {
	dir := t.TempDir()
	m, _ := create(t, dir, small)
	manifest := filepath.Join(dir, piece.ManifestName)
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(manifest, past, past); err != nil { // so all files are later
		t.Fatal(err)
	}
	if _, said := create(t, dir, small); !strings.Contains(said, "reusing") {
		t.Errorf("said %q", said)
	}
	dated, err := os.Stat(manifest)
	if err != nil {
		t.Fatal(err)
	}
	flat, err := os.Stat(filepath.Join(dir, m.Pieces[0].Flat))
	if err != nil {
		t.Fatal(err)
	}
	if dated.ModTime().Before(flat.ModTime()) {
		t.Error("the manifest is still older than the files: the next look at them is a full one again")
	}
}

func TestBrokenManifestIsNamedAndRebuilt(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "cut": `{"version": 1, "pie`, "other version": `{"version": 9}`} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			create(t, dir, small)
			manifest := filepath.Join(dir, "pieces.json")
			if err := os.WriteFile(manifest, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, said := create(t, dir, small); !strings.Contains(said, manifest) || !strings.Contains(said, "again") {
				t.Errorf("said %q", said)
			}
			if faults := verify(t, dir); faults != "" {
				t.Error(faults)
			}
		})
	}
}

func TestOtherParametersReplaceTheDataset(t *testing.T) {
	dir := t.TempDir()
	first, _ := create(t, dir, small)
	for _, p := range []dataset.Params{
		{Pieces: 2, PieceSize: 4 << 20, Seed: 1},
		{Pieces: 2, PieceSize: 1 << 20, Seed: 1},
		{Pieces: 2, PieceSize: 1 << 20, Seed: 2},
		{Pieces: 40, PieceSize: 256, Seed: 2},
	} {
		m, said := create(t, dir, p)
		if !strings.Contains(said, "other parameters") {
			t.Errorf("%v: said %q", p, said)
		}
		if faults := verify(t, dir); faults != "" {
			t.Errorf("%v: %s", p, faults)
		}
		if got, want := len(snapshot(t, dir)), len(m.Pieces)+3; got != want {
			t.Errorf("%v: %d files, want %d", p, got, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, first.Pieces[2].Flat)); err == nil {
		t.Error("a file of the first dataset is left")
	}
}

func TestCreateRefuses(t *testing.T) {
	for name, v := range map[string]struct {
		params dataset.Params
		says   string
	}{
		"no pieces":       {dataset.Params{Pieces: 0, PieceSize: 1 << 20}, "0 pieces"},
		"too many pieces": {dataset.Params{Pieces: 1_000_001, PieceSize: 128}, "1000001 pieces"},
		"no power of two": {dataset.Params{Pieces: 1, PieceSize: 3 << 20}, "2MiB and 4MiB"},
		"disk too small":  {dataset.Params{Pieces: 1_000_000, PieceSize: 64 << 30}, "free"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			_, err := dataset.Create(context.Background(), dir, v.params, new(bytes.Buffer))
			if err == nil || !strings.Contains(err.Error(), v.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, v.says)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("the folder is left")
			}
		})
	}
}

func TestInterruptedCreateLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // as soon as the first file is there
		for {
			if files, _ := filepath.Glob(filepath.Join(dir, "*", ".*")); len(files) > 0 {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	_, err := dataset.Create(ctx, dir, dataset.Params{Pieces: 8, PieceSize: 64 << 20, Seed: 1}, new(bytes.Buffer))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if left := snapshot(t, dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestLeftoversOfAKilledCreateAreRemoved(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"flat/.piece-0.tmp", "sectors/.s-t01000-0.tmp"} {
		os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755)
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 5<<20), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	create(t, dir, dataset.Params{Pieces: 1, PieceSize: 1 << 20, Seed: 1})
	if files := snapshot(t, dir); len(files) != 4 {
		t.Errorf("files: %v", files)
	}
	if faults := verify(t, dir); faults != "" {
		t.Error(faults)
	}
}

func TestParsePieceSize(t *testing.T) {
	for s, want := range map[string]int64{"128": 128, "128B": 128, "512MiB": 512 << 20, "1024MiB": 1 << 30, "32GiB": 32 << 30, "64GiB": 64 << 30} {
		if got, err := dataset.ParsePieceSize(s); err != nil || got != want {
			t.Errorf("%s is %d, %v; want %d", s, got, err, want)
		}
	}
	for s, says := range map[string]string{
		"500MiB": "256MiB and 512MiB", "64B": "128B", "128GiB": "64GiB", "65GiB": "64GiB", "127": "128B",
		"512MB": "512MB", "": `""`, "-1": "-1", "1.5GiB": "1.5GiB", "33GiB": "32GiB and 64GiB",
	} {
		if n, err := dataset.ParsePieceSize(s); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s is %d, %v; want an error with %q", s, n, err, says)
		}
	}
}

func TestOneCreateAtATime(t *testing.T) {
	dir := t.TempDir()
	other, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := dataset.Create(context.Background(), dir, small, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("error %v", err)
	}
}
