package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"syscall"
)

// lastWords waits until it is told of a crash, and for the end of who tells it.
// An agent that ends in order, or is killed, says nothing.
const lastWords = `trap "" HUP INT QUIT USR1 USR2 PIPE ALRM TERM
read -r _ || exit 0
cat >/dev/null
exec "$0" --restore`

// restoreAfterCrash starts a process that puts everything back when this one
// ends in a panic or another fault, in which it cannot do that itself.
func restoreAfterCrash() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	defer write.Close() // the runtime has a copy
	guard := exec.Command("sh", "-c", lastWords, self)
	guard.Stdin, guard.Stderr = read, os.Stderr
	guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a terminal ends only the agent
	if err := guard.Start(); err != nil {
		return fmt.Errorf("start what restores after a crash: %w", err)
	}
	return debug.SetCrashOutput(write, debug.CrashOptions{})
}
