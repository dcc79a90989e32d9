// Package labtest lays out an installation of piecebench and a small dataset
// for tests that run the real programs.
package labtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"piecebench/internal/program"
	"piecebench/internal/testset"
)

// Install lays the named programs out like a checkout, bin/ with k6/scripts,
// servers/ and dashboards/ beside it, and returns the folder.
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
	if err := os.Mkdir(filepath.Join(root, "bin"), 0o755); err != nil {
		return err
	}
	for _, name := range programs {
		built, err := program.Build(name)
		if err != nil {
			return err
		}
		// A copy: tests put other programs in its place, and other users run it.
		if out, err := exec.Command("install", built, filepath.Join(root, "bin", name)).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	checkout := checkout()
	for _, part := range []string{"k6", "servers", "dashboards"} {
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
	testset.Write(t, dir, 2, 8<<20)
	return dir
}
