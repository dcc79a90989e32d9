package netem

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// readSysctl returns the value of a name such as net/ipv4/ip_forward: with
// slashes, because a device's name may have dots.
func readSysctl(name string) (string, error) {
	text, err := os.ReadFile("/proc/sys/" + name)
	if err != nil {
		return "", fmt.Errorf("read sysctl %s: %w", name, err)
	}
	return strings.TrimSpace(string(text)), nil
}

func (c commands) writeSysctl(name, value string) error {
	c.say("sysctl", "-w", name+"="+value)
	err := os.WriteFile("/proc/sys/"+name, []byte(value), 0)
	if errors.Is(err, unix.EROFS) || errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("sysctl %s=%s: %w: set it when the container starts (compose: sysctls; docker run: --sysctl %s=%s)",
			name, value, err, strings.ReplaceAll(name, "/", "."), value)
	}
	if err != nil {
		return fmt.Errorf("sysctl %s=%s: %w", name, value, err)
	}
	return nil
}
