package lab

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
)

// commands runs the system's own tools and logs each as a line that a person
// could repeat.
type commands struct{ log io.Writer }

// run runs argv to its end. The error holds the command and what it printed.
func (c commands) run(argv ...string) error {
	_, err := c.output(argv...)
	return err
}

func (c commands) output(argv ...string) (string, error) {
	fmt.Fprintln(c.log, "+", strings.Join(argv, " "))
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// A terminal's Ctrl-C is for this program, which then still has commands to run.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(stderr.String())
		if said == "" {
			said = err.Error()
		}
		return "", fmt.Errorf("%s: %s", strings.Join(argv, " "), said)
	}
	return stdout.String(), nil
}
