package fr32

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

const (
	withoutAVX512 = "cpu.avx512f=off"
	withoutAVX2   = "cpu.avx2=off"
)

// TestOnOtherCPUs runs this package's tests as on CPUs that lack AVX-512, and
// AVX2 too. GODEBUG hides them from any program and test of this project.
func TestOnOtherCPUs(t *testing.T) {
	if strings.Contains(os.Getenv("GODEBUG"), withoutAVX512) {
		return // is one of those
	}
	for _, hidden := range []string{withoutAVX512, withoutAVX512 + "," + withoutAVX2} {
		tests := exec.Command(os.Args[0])
		tests.Env = append(os.Environ(), "GODEBUG="+hidden)
		if out, err := tests.CombinedOutput(); err != nil {
			t.Errorf("with GODEBUG=%s: %v\n%s", hidden, err, out)
		}
	}
}

func TestGODEBUGHidesWhatUnpadUses(t *testing.T) {
	for option, uses := range map[string]bool{withoutAVX512: hasLines, withoutAVX2: hasAVX2} {
		if uses && strings.Contains(os.Getenv("GODEBUG"), option) {
			t.Errorf("in use in spite of %s", option)
		}
	}
}
