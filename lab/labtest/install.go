// Package labtest lays out an installation of piecebench and a small dataset
// for tests that run the real programs.
package labtest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"piecebench/piece/dataset"
)

// Install builds the named programs into a folder laid out like a checkout,
// bin/ with k6/scripts, nginx/ and dashboards/ beside it, and returns the folder.
func Install(t *testing.T, programs ...string) string {
	t.Helper()
	root := t.TempDir()
	if err := InstallInto(root, programs...); err != nil {
		t.Fatal(err)
	}
	return root
}

// InstallInto is Install into a folder that many tests share.
func InstallInto(root string, programs ...string) error {
	checkout := checkout()
	for _, program := range programs {
		source := "./cmd/" + program
		if program == "k6" {
			source = "./k6"
		}
		build := exec.Command("go", "build", "-o", filepath.Join(root, "bin", program), source)
		build.Dir = checkout
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", program, err, out)
		}
	}
	for _, part := range []string{"k6", "nginx", "dashboards"} {
		if err := os.Symlink(filepath.Join(checkout, part), filepath.Join(root, part)); err != nil {
			return err
		}
	}
	return nil
}

func checkout() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// Dataset makes two pieces of 8 MiB and returns their folder.
func Dataset(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if _, err := dataset.Create(context.Background(), dir, dataset.Params{Pieces: 2, PieceSize: 8 << 20, Seed: 1}, io.Discard); err != nil {
		t.Fatal(err)
	}
	return dir
}
