package netem

import (
	"strings"
	"testing"

	"piecebench/internal/testneeds"
	"piecebench/internal/uml"
)

// runInUML runs tests of the kernel backend in User-Mode Linux, which has sch_netem.
func runInUML(t *testing.T, pattern string) uml.Result {
	t.Helper()
	testneeds.OtherKernel(t)
	needRoot(t)
	if hasNetem() {
		t.Skip("SKIPPED: this kernel has sch_netem itself, so that the tests of the kernel backend run here")
	}
	return uml.Run(t, pattern, agentVariable+"="+agentBinary)
}

func TestKernelBackendInUML(t *testing.T) {
	run := runInUML(t, "TestLink/kernel")
	t.Log(run.Text)
	if !run.Passed() || !strings.Contains(run.Text, "PASS: TestLink/kernel/IdleRTTIsTheDelay") {
		t.Error("the tests in User-Mode Linux failed")
	}
}

// User-Mode Linux has one CPU. When it has to wait for it, its clock goes on and
// the link's unused tokens are lost (more than a millisecond's), which is then
// no fault of the link: a link that can carry its rate does so in one of the attempts.
func TestKernelCapacityInUML(t *testing.T) {
	for range 3 {
		run := runInUML(t, "TestKernelCapacity$")
		t.Log(run.Text)
		if run.Passed() {
			return
		}
		if !run.RealTime {
			t.Skip("SKIPPED: the capacity of the kernel backend's links is NOT tested: User-Mode Linux may not have a CPU when it wants it (SCHED_RR is refused here)")
		}
	}
	t.Error("the kernel backend's links are slower than asked")
}
