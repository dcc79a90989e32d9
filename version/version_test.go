package version_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestABuildSaysItsRevision(t *testing.T) {
	for flags, want := range map[string]string{
		"":                                      "(unknown)",
		"-X piecebench/version.Revision=abc123": "(abc123)",
	} {
		program := filepath.Join(t.TempDir(), "netem-agent")
		build := exec.Command("go", "build", "-buildvcs=false", "-ldflags", flags, "-o", program, "piecebench/cmd/netem-agent")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, err := exec.Command(program, "--version").CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("built with %q it says %q (%v), want %s", flags, out, err, want)
		}
	}
}
