package netem

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"piecebench/internal/contained"
	"piecebench/internal/program"
	"piecebench/internal/testneeds"
	"piecebench/internal/uml"
)

// agentBinary is the netem-agent that the tests run as a process of its own.
var agentBinary = os.Getenv(agentVariable)

const agentVariable = "NETEM_TEST_AGENT"

// The main thread stays where it is: /proc/net is that of its network namespace,
// and a test that enters another one must not get this thread for it.
func init() { runtime.LockOSThread() }

func TestMain(m *testing.M) {
	uml.Main(m, "veth", "sch_tbf", "sch_htb", "sch_netem")
	os.Exit(contained.Run(func() int {
		if agentBinary == "" {
			var err error
			if agentBinary, err = program.Build("netem-agent"); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 2
			}
		}
		return m.Run()
	}))
}

// needRoot skips a test that makes network namespaces.
func needRoot(t *testing.T) {
	t.Helper()
	testneeds.Root(t)
	testneeds.Program(t, "tc")
	if _, err := os.Stat("/dev/net/tun"); err != nil && !uml.Inside() {
		t.Skip("SKIPPED, NOT tested: there is no /dev/net/tun here; modprobe tun makes it")
	}
}
