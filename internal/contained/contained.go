// Package contained runs the tests of a package so that every process they start dies
// with them. This includes processes that left the process group, and tests that end by
// their time limit or by kill -9.
package contained

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// A test binary runs three times: outside, as the first process of a PID
// namespace, and for the tests. The kernel kills a namespace with its first process.
const (
	role     = "PIECEBENCH_CONTAINED"
	first    = "first"
	forTests = "tests"
)

// hidden are the folders of which the tests get empty ones of their own: ip keeps
// the names of network namespaces in one, labs their state in the other.
var hidden = []string{"/run/netns", "/run/piecebench"}

// own are settings of the whole host that labs change. The tests get a copy of each: what
// they change is not the host's, and no other lab changes it meanwhile.
var own = []string{"/proc/sys/net/core/netdev_max_backlog"}

// Run calls run, which runs the tests, and returns its exit code; for TestMain.
// As root it calls run in a PID namespace, where the machine's labs and network
// namespaces are not seen, and what the tests make of them goes with the tests.
// When everything that the tests started has died it removes their temporary folder, which
// tests at their time limit do not, and calls after; not if it is itself ended by kill -9.
func Run(run func() int, after ...func()) int {
	switch os.Getenv(role) {
	case forTests:
		os.Unsetenv(role) // a test may run a test binary
		return run()
	case first:
		return runFirst()
	}
	if os.Geteuid() != 0 {
		return run()
	}
	// The signal comes when the thread dies that started the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	temp, err := os.MkdirTemp("", "tests")
	if err == nil {
		err = os.Chmod(temp, 0o777|os.ModeSticky) // labs run servers without privilege
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "no temporary folder for the tests:", err)
		return 2
	}
	defer os.RemoveAll(temp)
	cmd := again(first)
	cmd.Env = append(cmd.Env, "TMPDIR="+temp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "NOT contained: what these tests start may outlive them:", err)
		return run()
	}
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-ending
		_ = cmd.Process.Kill() // an error means that it has ended
	}()
	_ = cmd.Wait() // its exit code says it
	for _, f := range after {
		f()
	}
	return code(cmd.ProcessState.Sys().(syscall.WaitStatus))
}

func again(as string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), role+"="+as)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd
}

// runFirst is init in the PID namespace: it waits for whatever ends there.
func runFirst() int {
	err := mount()
	cmd := again(forTests)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot contain the tests:", err)
		return 2
	}
	for {
		var status syscall.WaitStatus
		switch pid, err := syscall.Wait4(-1, &status, 0, nil); {
		case pid == cmd.Process.Pid:
			return code(status)
		case err != nil && err != syscall.EINTR:
			fmt.Fprintln(os.Stderr, "waiting for the tests:", err)
			return 2
		}
	}
}

// mount makes /proc show this PID namespace, hides the hidden folders, and copies the
// tests' own settings. The mounts are not seen outside.
func mount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, dir := range hidden {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	for _, setting := range own {
		// In a container they do not exist: its network is not the host's.
		if err := mountCopy(setting); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("mount a copy of %s: %w", setting, err)
		}
	}
	return nil
}

// mountCopy puts a file with the same content in the place of one.
func mountCopy(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	copied, err := os.CreateTemp("", "contained")
	if err != nil {
		return err
	}
	defer copied.Close()
	defer os.Remove(copied.Name()) // the mount keeps it
	if _, err := copied.Write(content); err != nil {
		return err
	}
	return unix.Mount(copied.Name(), path, "", unix.MS_BIND, "")
}

func code(status syscall.WaitStatus) int {
	if status.Signaled() {
		fmt.Fprintln(os.Stderr, "the tests ended by", status.Signal())
		return 2
	}
	return status.ExitStatus()
}
