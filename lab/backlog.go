package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// packetBacklog is how many packets a CPU may hold between two network devices while a
// lab is up. What comes on top is dropped, by no queue of the link. With the kernel's
// 1000, 1000 clients at 1 Gbit/s on two cores had 10 % of the segments sent again and
// 300 of them waited for seconds; with this, 0.1 % and none.
const packetBacklog = 100_000

const (
	packetBacklogSetting = "net.core.netdev_max_backlog" // of the whole host
	packetBacklogPath    = "/proc/sys/net/core/netdev_max_backlog"
)

// packetBacklogNote holds what the host had before a lab raised it.
var packetBacklogNote = filepath.Join(runDir, "netdev_max_backlog")

// raisePacketBacklog raises the host's setting, unless it is as high already.
func raisePacketBacklog(c commands) error {
	unlock, err := lockHost()
	if err != nil {
		return err
	}
	defer unlock()
	before, err := os.ReadFile(packetBacklogPath)
	if errors.Is(err, os.ErrNotExist) { // in a container: its network is not the host's
		return nil
	}
	if err != nil {
		return err
	}
	if has, _ := strconv.Atoi(strings.TrimSpace(string(before))); has >= packetBacklog {
		return nil
	}
	if err := os.WriteFile(packetBacklogNote, before, 0o644); err != nil {
		return err
	}
	return c.run("sysctl", "-qw", fmt.Sprintf("%s=%d", packetBacklogSetting, packetBacklog))
}

// restorePacketBacklog puts the host's setting back with the last lab, if it is still
// what a lab made it.
func restorePacketBacklog(c commands) error {
	unlock, err := lockHost()
	if err != nil {
		return err
	}
	defer unlock()
	if labs, err := All(); err != nil || len(labs) > 0 {
		return err
	}
	before, err := os.ReadFile(packetBacklogNote)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	now, failed := os.ReadFile(packetBacklogPath)
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	if strings.TrimSpace(string(now)) == strconv.Itoa(packetBacklog) {
		if err := c.run("sysctl", "-qw", packetBacklogSetting+"="+strings.TrimSpace(string(before))); err != nil {
			return err
		}
	}
	return os.Remove(packetBacklogNote)
}

// lockHost makes labs take turns with what is the host's.
func lockHost() (unlock func(), err error) {
	labs, err := os.Open(runDir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(labs.Fd()), syscall.LOCK_EX); err != nil {
		labs.Close()
		return nil, fmt.Errorf("lock %s: %w", runDir, err)
	}
	return func() { labs.Close() }, nil
}
