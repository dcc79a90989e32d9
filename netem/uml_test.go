package netem

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"piecebench/internal/testneeds"
)

// Debian's package user-mode-linux has a kernel with sch_netem that runs as an
// ordinary process on this machine's own files, read-only. The test binary is
// its init: it runs the tests of the kernel backend there, and powers off.
const (
	umlKernel  = "linux.uml"
	umlModules = "/usr/lib/uml/modules"
	umlTests   = "NETEM_UML_TESTS" // pattern of the tests; the kernel hands it to init
)

func inUML() bool { return os.Getpid() == 1 && os.Getenv(umlTests) != "" }

func TestKernelBackendInUML(t *testing.T) {
	uml := runInUML(t, "TestLink/kernel")
	t.Logf("%s", uml.text)
	if !uml.passed || !strings.Contains(uml.text, "PASS: TestLink/kernel/IdleRTTIsTheDelay") {
		t.Error("the tests in User-Mode Linux failed")
	}
}

// User-Mode Linux has one CPU. When it has to wait for it, its clock goes on and
// the link's unused tokens are lost (more than a millisecond's), which is then
// no fault of the link.
func TestKernelCapacityInUML(t *testing.T) {
	const attempts = 2
	for range attempts {
		start, before := time.Now(), hostBusySeconds(t)
		uml := runInUML(t, "TestKernelCapacity$")
		others := (hostBusySeconds(t) - before - uml.cpu.Seconds()) / time.Since(start).Seconds()
		t.Logf("%s\nother processes used %.2f CPUs", uml.text, others)
		if uml.passed {
			return
		}
		if others < 0.2 {
			t.Fatal("the kernel backend's links are slower than asked")
		}
	}
	t.Skipf("SKIPPED: the capacity of the kernel backend's links is NOT tested: in %d attempts this machine was busy with other things", attempts)
}

func hostBusySeconds(t *testing.T) float64 {
	t.Helper()
	reader, err := newProcReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	procs, err := reader.read()
	if err != nil {
		t.Fatal(err)
	}
	return procs.Host.BusySeconds
}

type umlRun struct {
	text   string
	passed bool
	cpu    time.Duration
}

// runInUML runs the tests of a pattern in User-Mode Linux, or skips the test.
func runInUML(t *testing.T, pattern string) umlRun {
	t.Helper()
	testneeds.OtherKernel(t)
	needRoot(t)
	if hasNetem() {
		t.Skip("SKIPPED: this kernel has sch_netem itself, so that the tests of the kernel backend run here")
	}
	kernel, err := exec.LookPath(umlKernel)
	if err != nil {
		t.Skip("SKIPPED: the kernel backend is NOT tested: this kernel has no sch_netem, and there is no linux.uml (install user-mode-linux)")
	}
	// Built anew because a race detector, if this binary has one, does not start there.
	init := filepath.Join(t.TempDir(), "init")
	if text, err := exec.Command("go", "test", "-c", "-o", init, ".").CombinedOutput(); err != nil {
		t.Fatalf("build init: %v: %s", err, text)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, kernel, "mem=2G", "rootfstype=hostfs", "rootflags=/", "ro", "quiet",
		"init="+init, "con=null", "con0=fd:0,fd:1", umlTests+"="+pattern,
		"NETEM_TEST_AGENT="+agentBinary, "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir()) // it keeps a directory there
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatalf("User-Mode Linux: %v", err)
	}
	// Its clock goes on while it waits for a CPU. Without the right to this it is only slower.
	_ = unix.Setpriority(unix.PRIO_PROCESS, cmd.Process.Pid, -20)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("User-Mode Linux: %v:\n%s", err, &output)
	}
	return umlRun{
		text:   output.String(),
		passed: regexp.MustCompile(`(?m)^UML: tests passed`).Match(output.Bytes()),
		cpu:    cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
	}
}

// umlMain is init in User-Mode Linux. It does not return.
func umlMain(m *testing.M) {
	code := 2
	if err := umlPrepare(); err != nil {
		fmt.Println("UML:", err)
	} else {
		flag.Parse()
		flag.Set("test.run", os.Getenv(umlTests))
		flag.Set("test.v", "true")
		code = m.Run()
	}
	if code == 0 {
		fmt.Println("UML: tests passed")
	}
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func umlPrepare() error {
	for _, m := range []struct{ kind, at string }{{"proc", "/proc"}, {"sysfs", "/sys"}, {"tmpfs", "/run"}, {"devtmpfs", "/dev"}} {
		if err := unix.Mount(m.kind, m.at, m.kind, 0, ""); err != nil && err != unix.EBUSY {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	os.Setenv("TMPDIR", "/run")
	if err := loadModules("veth", "sch_tbf", "sch_htb", "sch_netem"); err != nil {
		return err
	}
	return exec.Command("ip", "link", "set", "lo", "up").Run()
}

// loadModules loads modules that depend on no other.
func loadModules(names ...string) error {
	root := filepath.Join(umlModules, kernelRelease())
	list, err := os.Open(filepath.Join(root, "modules.dep"))
	if err != nil {
		return err
	}
	defer list.Close()
	paths := map[string]string{}
	for lines := bufio.NewScanner(list); lines.Scan(); {
		path, _, _ := strings.Cut(lines.Text(), ":")
		paths[strings.TrimSuffix(filepath.Base(path), ".ko")] = filepath.Join(root, path)
	}
	for _, name := range names {
		file, err := os.Open(paths[name])
		if err != nil {
			return fmt.Errorf("module %s: %w", name, err)
		}
		err = unix.FinitModule(int(file.Fd()), "", 0)
		file.Close()
		if err != nil {
			return fmt.Errorf("load module %s: %w", name, err)
		}
	}
	return nil
}
