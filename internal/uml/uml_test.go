package uml

import (
	"os"
	"os/exec"
	"testing"

	"piecebench/internal/contained"
	"piecebench/internal/testneeds"
)

func TestMain(m *testing.M) {
	Main(m)
	os.Exit(contained.Run(m.Run))
}

// What User-Mode Linux 6.1 said on a Sapphire Rapids machine, and what says nothing of that.
func TestUMLsOwnWordsShowAStateThatIsTooLarge(t *testing.T) {
	for text, want := range map[string]bool{
		"userspace - ptrace set fp regs failed, errno = 14\n":       true,
		"userspace - ptrace set fp regs failed, errno = 3\n":        false,
		"Kernel panic - not syncing: No working init found.\n":      false,
		"userspace - ptrace set regs failed, errno = 14\n" + booted: false,
	} {
		if got := (Result{Text: text}).stateTooLarge(); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// On any machine whose state is larger than 832 bytes, the host's kernel refuses
// a smaller buffer as it refuses User-Mode Linux's where there is AMX.
func TestStateShimWritesASmallerBuffer(t *testing.T) {
	shim := buildStateShim(t)
	program := compileC(t, "smallbuffer.c")
	if err := exec.Command(program).Run(); err == nil {
		t.Skip("SKIPPED: this machine's floating-point state is no larger than x87, SSE and AVX")
	} else if err.Error() != "exit status 14" {
		t.Fatal("without the shim:", err)
	}
	with := exec.Command(program)
	with.Env = append(os.Environ(), "LD_PRELOAD="+shim)
	if err := with.Run(); err != nil {
		t.Error("with the shim:", err)
	}
}

func TestUMLRunsWithTheStateShim(t *testing.T) {
	testneeds.OtherKernel(t)
	testneeds.Program(t, kernel)
	if r := start(t, "TestNothing", buildStateShim(t), nil); !r.Passed() {
		t.Errorf("%v\n%s", r.Err, r.Text)
	}
}
