package netem

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/internal/testneeds"
)

// Debian's package user-mode-linux has a kernel with sch_netem that runs as an
// ordinary process on this machine's own files, read-only. The test binary is
// its init: it runs the tests of the kernel backend there, and powers off.
const umlKernel = "linux.uml"

func TestKernelBackendInUML(t *testing.T) {
	uml := runInUML(t, "TestLink/kernel")
	t.Log(uml.text)
	if !uml.passed() || !strings.Contains(uml.text, "PASS: TestLink/kernel/IdleRTTIsTheDelay") {
		t.Error("the tests in User-Mode Linux failed")
	}
}

// User-Mode Linux has one CPU. When it has to wait for it, its clock goes on and
// the link's unused tokens are lost (more than a millisecond's), which is then
// no fault of the link: a link that can carry its rate does so in one of the attempts.
func TestKernelCapacityInUML(t *testing.T) {
	for range 3 {
		uml := runInUML(t, "TestKernelCapacity$")
		t.Log(uml.text)
		if uml.passed() {
			return
		}
		if !uml.realTime {
			t.Skip("SKIPPED: the capacity of the kernel backend's links is NOT tested: User-Mode Linux may not have a CPU when it wants it (SCHED_RR is refused here)")
		}
	}
	t.Error("the kernel backend's links are slower than asked")
}

// What User-Mode Linux 6.1 said on a Sapphire Rapids machine, and what says nothing of that.
func TestUMLsOwnWordsShowAStateThatIsTooLarge(t *testing.T) {
	for text, want := range map[string]bool{
		"userspace - ptrace set fp regs failed, errno = 14\n":          true,
		"userspace - ptrace set fp regs failed, errno = 3\n":           false,
		"Kernel panic - not syncing: No working init found.\n":         false,
		"userspace - ptrace set regs failed, errno = 14\n" + umlBooted: false,
	} {
		if got := (umlRun{text: text}).stateTooLarge(); got != want {
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
	uml := startUML(t, "TestNothing", buildStateShim(t))
	if !uml.passed() {
		t.Errorf("%v\n%s", uml.err, uml.text)
	}
}

// umlRun is what became of a run of User-Mode Linux.
type umlRun struct {
	text     string
	err      error
	realTime bool // it had a CPU whenever it wanted it
}

func (r umlRun) booted() bool { return strings.Contains(r.text, umlBooted) }
func (r umlRun) passed() bool { return r.err == nil && strings.Contains(r.text, umlPassed) }

// stateTooLarge says whether User-Mode Linux died of a CPU whose floating-point
// state is larger than its buffer.
func (r umlRun) stateTooLarge() bool {
	return strings.Contains(r.text, "ptrace set fp regs failed, errno = 14")
}

// runInUML runs the tests of a pattern in User-Mode Linux, or skips the test.
func runInUML(t *testing.T, pattern string) umlRun {
	t.Helper()
	testneeds.OtherKernel(t)
	needRoot(t)
	if hasNetem() {
		t.Skip("SKIPPED: this kernel has sch_netem itself, so that the tests of the kernel backend run here")
	}
	testneeds.Program(t, umlKernel)
	uml := startUML(t, pattern, "")
	if uml.stateTooLarge() {
		t.Log("User-Mode Linux does not know this CPU's state; once more with the shim")
		uml = startUML(t, pattern, buildStateShim(t))
	}
	if !uml.booted() {
		t.Skipf("SKIPPED: the kernel backend is NOT tested: this kernel has no sch_netem, and User-Mode Linux does not run here: %v\n%s", uml.err, uml.text)
	}
	return uml
}

func startUML(t *testing.T, pattern, preload string) umlRun {
	t.Helper()
	// Built anew because a race detector, if this binary has one, does not start there.
	init := filepath.Join(t.TempDir(), "init")
	if text, err := exec.Command("go", "test", "-c", "-o", init, ".").CombinedOutput(); err != nil {
		t.Fatalf("build init: %v: %s", err, text)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	// It loses the state of AVX-512 now and then.
	cmd := exec.CommandContext(ctx, umlKernel, "mem=2G", "rootfstype=hostfs", "rootflags=/", "ro", "quiet",
		"init="+init, "con=null", "con0=fd:0,fd:1", umlTests+"="+pattern,
		"NETEM_TEST_AGENT="+agentBinary, "GODEBUG=cpu.avx512f=off", "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir()) // it keeps a directory there
	if preload != "" {
		cmd.Env = append(cmd.Env, "LD_PRELOAD="+preload)
	}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	run := make(chan umlRun)
	go func() {
		// Its clock goes on while it waits for a CPU: a link's RTT of 40 ms had 45 in the
		// 90th percentile without this scheduling, which its threads inherit, and 40.65 with it.
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		realTime := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}, 0) == nil
		err := cmd.Run()
		run <- umlRun{output.String(), err, realTime}
	}()
	return <-run
}

// buildStateShim returns the library for User-Mode Linux on a CPU whose state is
// too large for it.
func buildStateShim(t *testing.T) string {
	t.Helper()
	return compileC(t, "xstate.c", "-shared", "-fPIC", "-ldl")
}

func compileC(t *testing.T, source string, options ...string) (path string) {
	t.Helper()
	testneeds.Program(t, "cc")
	if runtime.GOARCH != "amd64" {
		t.Skip("SKIPPED: the floating-point state is x86-64's")
	}
	path = filepath.Join(t.TempDir(), strings.TrimSuffix(source, ".c"))
	args := append([]string{"-Wall", "-Wextra", "-Werror", "-O2", "-o", path, filepath.Join("testdata", source)}, options...)
	if text, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v: %s", err, text)
	}
	return path
}
