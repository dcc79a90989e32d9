package testneeds

import (
	"fmt"
	"strings"
	"testing"
)

// recorder is a test that remembers its skip. The embedded one is nil: nothing
// else is called.
type recorder struct {
	testing.TB
	skipped string
}

func (r *recorder) Helper()                          {}
func (r *recorder) Skip(args ...any)                 { r.skipped = fmt.Sprint(args...) }
func (r *recorder) Skipf(format string, args ...any) { r.skipped = fmt.Sprintf(format, args...) }

func TestASkipSaysWhyAndWhatRunsIt(t *testing.T) {
	t.Setenv("PIECEBENCH_TEST", "")
	var r recorder
	All(&r, "it takes ten minutes")
	if !strings.Contains(r.skipped, "NOT tested: it takes ten minutes; make test-all runs it") {
		t.Errorf("skipped with %q", r.skipped)
	}
	r.skipped = ""
	Program(&r, "sh", "no-such-program")
	if !strings.Contains(r.skipped, "no no-such-program here; PIECEBENCH_TEST=all scripts/setup test") {
		t.Errorf("skipped with %q", r.skipped)
	}
}

func TestMakeTestAllRunsEverything(t *testing.T) {
	t.Setenv("PIECEBENCH_TEST", everything)
	var r recorder
	All(&r, "it takes ten minutes")
	if r.skipped != "" {
		t.Errorf("skipped with %q", r.skipped)
	}
}
