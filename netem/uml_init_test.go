package netem

import (
	"bufio"
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
	umlModules = "/usr/lib/uml/modules"
	umlTests   = "NETEM_UML_TESTS" // pattern of the tests; the kernel hands it to init
	umlBooted  = "UML: booted"
	umlPassed  = "UML: tests passed"
)

func inUML() bool { return os.Getpid() == 1 && os.Getenv(umlTests) != "" }

// umlMain is init in User-Mode Linux. It does not return.
func umlMain(m *testing.M) {
	code := 2
	fmt.Println(umlBooted)
	if err := umlPrepare(); err != nil {
		fmt.Println("UML:", err)
	} else {
		flag.Parse()
		flag.Set("test.run", os.Getenv(umlTests))
		flag.Set("test.v", "true")
		code = m.Run()
	}
	if code == 0 {
		fmt.Println(umlPassed)
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
