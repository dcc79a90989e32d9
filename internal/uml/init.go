package uml

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	moduleFolder = "/usr/lib/uml/modules"
	tests        = "UML_TESTS" // pattern of the tests; the kernel hands it to init
	booted       = "UML: booted"
	passed       = "UML: tests passed"
)

// Inside says whether this process is init in User-Mode Linux.
func Inside() bool { return os.Getpid() == 1 && os.Getenv(tests) != "" }

// Main runs the tests, and does not return, if this process is init in User-Mode Linux.
// It loads kernel modules first, each of which depends on no other but those before it.
// TestMain calls it before all else.
func Main(m *testing.M, modules ...string) {
	if !Inside() {
		return
	}
	code := 2
	fmt.Println(booted)
	if err := prepare(modules); err != nil {
		fmt.Println("UML:", err)
	} else {
		code = m.Run()
	}
	if code == 0 {
		fmt.Println(passed)
	}
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		fmt.Println("UML:", err)
	}
}

func prepare(modules []string) error {
	for _, m := range []struct{ kind, at string }{{"proc", "/proc"}, {"sysfs", "/sys"}, {"tmpfs", "/run"}, {"devtmpfs", "/dev"}} {
		if err := unix.Mount(m.kind, m.at, m.kind, 0, ""); err != nil && err != unix.EBUSY {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	flag.Parse()
	if err := errors.Join(flag.Set("test.run", os.Getenv(tests)), flag.Set("test.v", "true"), os.Setenv("TMPDIR", "/run"), loadModules(modules)); err != nil {
		return err
	}
	return exec.Command("ip", "link", "set", "lo", "up").Run()
}

func loadModules(names []string) error {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return err
	}
	root := filepath.Join(moduleFolder, unix.ByteSliceToString(uts.Release[:]))
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
