package netem

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"piecebench/internal/testneeds"
)

// agentBinary is the netem-agent that the tests run as a process of its own.
var agentBinary = os.Getenv("NETEM_TEST_AGENT")

// The main thread stays where it is: /proc/net is that of its network namespace,
// and a test that enters another one must not get this thread for it.
func init() { runtime.LockOSThread() }

func TestMain(m *testing.M) {
	if inUML() {
		umlMain(m)
	}
	if agentBinary == "" && os.Geteuid() == 0 {
		dir, err := os.MkdirTemp("", "netem-test-")
		if err == nil {
			agentBinary = filepath.Join(dir, "netem-agent")
			var text []byte
			if text, err = exec.Command("go", "build", "-o", agentBinary, "piecebench/cmd/netem-agent").CombinedOutput(); err != nil {
				err = fmt.Errorf("build netem-agent: %w: %s", err, text)
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		code := m.Run()
		os.RemoveAll(dir)
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// needRoot skips a test that makes network namespaces.
func needRoot(t *testing.T) {
	t.Helper()
	testneeds.Root(t)
	testneeds.Program(t, "tc")
	if _, err := os.Stat("/dev/net/tun"); err != nil && !inUML() {
		t.Skip("SKIPPED, NOT tested: there is no /dev/net/tun here; modprobe tun makes it")
	}
}

func kernelRelease() string {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return ""
	}
	return unix.ByteSliceToString(uts.Release[:])
}
