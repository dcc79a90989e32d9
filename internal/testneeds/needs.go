// Package testneeds skips a test that this machine cannot run, or that `make test`
// leaves to `make test-all`. Each skip says what is not tested, and what would run it.
package testneeds

import (
	"os"
	"os/exec"
	"testing"
)

// everything is the value of PIECEBENCH_TEST that `make test-all` sets.
const everything = "all"

// All skips a test under `make test`; why says in a few words what the test
// takes, such as "it takes ten minutes".
func All(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("PIECEBENCH_TEST") != everything {
		t.Skipf("SKIPPED, NOT tested: %s; make test-all runs it (or PIECEBENCH_TEST=%s go test)", why, everything)
	}
}

// Engine skips a test that needs a container engine, which it may start itself.
func Engine(t testing.TB) {
	t.Helper()
	All(t, "it needs a container engine")
	Root(t)
	Program(t, "docker")
}

// OtherKernel skips a test that boots a kernel of its own.
func OtherKernel(t testing.TB) {
	t.Helper()
	All(t, "it boots another kernel")
	Root(t)
}

// Root skips a test that only root can run, such as one that makes network namespaces.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, NOT tested: it needs root; sudo make test runs it")
	}
}

// Program skips a test that runs programs which are not installed here.
func Program(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED, NOT tested: there is no %s here; PIECEBENCH_TEST=%s scripts/setup test installs it", name, everything)
		}
	}
}

// File skips a test that needs a file which scripts/setup installs.
func File(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Skipf("SKIPPED, NOT tested: there is no %s here; PIECEBENCH_TEST=%s scripts/setup test installs it", path, everything)
	}
}
