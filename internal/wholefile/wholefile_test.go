package wholefile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"piecebench/internal/testneeds"
	"piecebench/internal/wholefile"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestAFileThatFailsLeavesTheOldOneAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.json")
	if err := wholefile.Write(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := wholefile.Create(path, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("half"))
	f.Close() // so that Commit fails
	if err := f.Commit(); err == nil {
		t.Error("a file that cannot be synced got its name")
	}
	data, _ := os.ReadFile(path)
	if got := names(t, dir); string(data) != "old" || !slices.Equal(got, []string{"run.json"}) {
		t.Errorf("%q in %v", data, got)
	}
}

func TestCleanRemovesWhatAKillLeftAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	if _, err := wholefile.Create(filepath.Join(dir, "run.json"), 0o644); err != nil { // and never ended
		t.Fatal(err)
	}
	keep := []string{".run.json", ".run.json.old", "cells.csv", "run.json"}
	for _, name := range keep {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := wholefile.Clean(dir, "run.json", "cells.csv"); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); !slices.Equal(got, keep) {
		t.Errorf("left: %v, want %v", got, keep)
	}
}

// writing makes this test binary the program that strace looks at.
const writing = "WHOLEFILE_TEST_WRITES"

func TestAPowerCutLeavesTheWholeFileOrNone(t *testing.T) {
	if dir := os.Getenv(writing); dir != "" {
		if err := wholefile.Write(filepath.Join(dir, "a"), []byte("all of it"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := wholefile.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "b")); err != nil {
			t.Fatal(err)
		}
		return
	}
	testneeds.Program(t, "strace")
	dir := t.TempDir()
	trace := filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command("strace", "-f", "-y", "-o", trace, "-e", "trace=fsync,rename,renameat,renameat2", os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), writing+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	calls, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	// The content is on the disk before its name is, and the name before Write returns.
	var got []string
	for _, line := range strings.Split(string(calls), "\n") {
		switch {
		case !strings.Contains(line, dir):
		case strings.Contains(line, "rename"):
			got = append(got, "rename")
		case strings.Contains(line, "<"+dir+">"):
			got = append(got, "sync folder")
		default:
			got = append(got, "sync file")
		}
	}
	if want := []string{"sync file", "rename", "sync folder", "rename", "sync folder"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v\n%s", got, want, calls)
	}
}
