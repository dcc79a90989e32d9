// Package uml runs tests of a package in User-Mode Linux, a kernel that runs as an
// ordinary process on this machine's own files, read-only (Debian's package
// user-mode-linux). The test binary is its init: it runs the tests there, and powers off.
package uml

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

const kernel = "linux.uml"

// Result is what became of a run.
type Result struct {
	Text     string // that init and the kernel wrote
	Err      error
	RealTime bool // it had a CPU whenever it wanted it
}

// Passed says whether the tests did.
func (r Result) Passed() bool { return r.Err == nil && strings.Contains(r.Text, passed) }

func (r Result) booted() bool { return strings.Contains(r.Text, booted) }

// stateTooLarge says whether User-Mode Linux died of a CPU whose floating-point
// state is larger than its buffer.
func (r Result) stateTooLarge() bool {
	return strings.Contains(r.Text, "ptrace set fp regs failed, errno = 14")
}

// Run runs the tests of a pattern of the caller's package, whose TestMain calls Main, with
// more environment variables. It skips the test where User-Mode Linux does not run.
func Run(t *testing.T, pattern string, environment ...string) Result {
	t.Helper()
	testneeds.OtherKernel(t)
	testneeds.Program(t, kernel)
	r := start(t, pattern, "", environment)
	if r.stateTooLarge() {
		t.Log("User-Mode Linux does not know this CPU's state; once more with the shim")
		r = start(t, pattern, buildStateShim(t), environment)
	}
	if !r.booted() {
		t.Skipf("SKIPPED, NOT tested: User-Mode Linux does not run here: %v\n%s", r.Err, r.Text)
	}
	return r
}

func start(t *testing.T, pattern, preload string, environment []string) Result {
	t.Helper()
	// Built anew because a race detector, if this binary has one, does not start there.
	init := filepath.Join(t.TempDir(), "init")
	if text, err := exec.Command("go", "test", "-c", "-o", init, ".").CombinedOutput(); err != nil {
		t.Fatalf("build init: %v: %s", err, text)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	// It loses the state of AVX-512 now and then.
	cmd := exec.CommandContext(ctx, kernel, append([]string{"mem=2G", "rootfstype=hostfs", "rootflags=/", "ro", "quiet",
		"init=" + init, "con=null", "con0=fd:0,fd:1", tests + "=" + pattern,
		"GODEBUG=cpu.avx512f=off", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, environment...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir()) // it keeps a directory there
	if preload != "" {
		cmd.Env = append(cmd.Env, "LD_PRELOAD="+preload)
	}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	run := make(chan Result)
	go func() {
		// Its clock goes on while it waits for a CPU: a link's RTT of 40 ms had 45 in the
		// 90th percentile without this scheduling, which its threads inherit, and 40.65 with it.
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		realTime := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}, 0) == nil
		err := cmd.Run()
		run <- Result{output.String(), err, realTime}
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
	_, here, _, _ := runtime.Caller(0)
	args := append([]string{"-Wall", "-Wextra", "-Werror", "-O2", "-o", path, filepath.Join(filepath.Dir(here), "testdata", source)}, options...)
	if text, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v: %s", err, text)
	}
	return path
}
