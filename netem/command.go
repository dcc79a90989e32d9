package netem

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// commands runs the system's tools. It logs each command that changes something, as a
// line that can be pasted into a shell.
type commands struct{ log io.Writer }

// run runs a command that changes something.
func (c commands) run(argv ...string) error {
	c.say(argv...)
	_, err := output(argv...)
	return err
}

// say writes a command that this process carries out itself.
func (c commands) say(argv ...string) {
	quoted := make([]string, len(argv))
	for i, arg := range argv {
		quoted[i] = quote(arg)
	}
	fmt.Fprintln(c.log, "+", strings.Join(quoted, " "))
}

// query runs a command that only reads, and decodes the JSON that it prints.
func query(into any, argv ...string) error {
	text, err := output(argv...)
	if err != nil {
		return err
	}
	// ip prints nothing at all for an empty table.
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: unexpected output, want JSON: %w", strings.Join(argv, " "), err)
	}
	return nil
}

func output(argv ...string) ([]byte, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	// Ctrl-C in a terminal must reach only the agent, which then still runs commands.
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	text, err := cmd.Output()
	if err != nil {
		if said := strings.Join(strings.Fields(complaint.String()), " "); said != "" {
			return nil, fmt.Errorf("%s: %s", strings.Join(argv, " "), said)
		}
		return nil, fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return text, nil
}

// quote makes an argument safe to paste into a shell.
func quote(arg string) string {
	if arg != "" && strings.Trim(arg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,%@+") == "" {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
