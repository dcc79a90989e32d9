// Package scripts_test runs scripts/setup and scripts/compose on a host whose
// package manager and container engine fail as a test wants it.
package scripts_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"piecebench/internal/contained"
	"piecebench/internal/testneeds"
)

func TestMain(m *testing.M) { os.Exit(contained.Run(m.Run)) }

// host is what a script sees of this machine, with files and commands of its own
// in their place. Nothing that it does there is done to this machine.
type host struct {
	t        *testing.T
	checkout string            // with the scripts
	stubs    string            // the folder of its own commands, and of what they note
	over     map[string]string // what stands at a path, by the path
}

func newHost(t *testing.T) *host {
	t.Helper()
	testneeds.Root(t)
	dir := t.TempDir()
	h := &host{t: t, checkout: filepath.Join(dir, "checkout"), stubs: filepath.Join(dir, "stubs"), over: map[string]string{"/run": filepath.Join(dir, "run")}}
	for _, folder := range []string{filepath.Join(h.checkout, "scripts"), h.stubs, h.over["/run"]} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(h.checkout, "servers"), os.DirFS("../../servers")); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"scripts/setup", "scripts/compose", "docker-compose.yml", "docker-compose.receive-packet-steering.yml"} {
		data, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		h.write(filepath.Join(h.checkout, file), string(data))
	}
	return h
}

func (h *host) write(path, text string) {
	h.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) read(path string) string {
	h.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// stub makes a command of a shell script, in which $STUBS is their folder.
func (h *host) stub(name, script string) {
	h.write(filepath.Join(h.stubs, name), "#!/bin/sh\n"+script)
}

// note is the path of a file that commands of the host write or read.
func (h *host) note(name string) string { return filepath.Join(h.stubs, name) }

// script is one that runs, in a process group of its own as a terminal's command is.
type script struct {
	*exec.Cmd
	h    *host
	said bytes.Buffer
}

func (h *host) start(argv ...string) *script {
	h.t.Helper()
	inside := []string{"-c", `while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit 99; shift 2; done; shift; exec "$@"`, "sh"}
	for path, at := range h.over {
		inside = append(inside, at, path)
	}
	s := &script{h: h, Cmd: exec.Command("sh", append(append(inside, "--"), argv...)...)}
	s.Dir = h.checkout
	s.Env = append(os.Environ(), "STUBS="+h.stubs, "PATH="+h.stubs+":/usr/bin:/bin", "MAKEFLAGS=")
	s.Stdout, s.Stderr = &s.said, &s.said
	s.WaitDelay = 10 * time.Second
	s.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Unshareflags: syscall.CLONE_NEWNS}
	if err := s.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = syscall.Kill(-s.Process.Pid, syscall.SIGKILL) })
	return s
}

// signal sends a signal to all of the script's processes, as a terminal does.
func (s *script) signal(signal syscall.Signal) {
	s.h.t.Helper()
	if err := syscall.Kill(-s.Process.Pid, signal); err != nil {
		s.h.t.Fatal(err)
	}
}

// code waits for the script's end and returns its exit code.
func (s *script) code() int {
	s.h.t.Helper()
	_ = s.Wait()
	return s.ProcessState.ExitCode()
}

// await waits until a file is there.
func (h *host) await(path string) {
	h.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("%s is never there", path)
		}
	}
}

// hang is a line of a stub: it notes that it was reached, and waits for a signal.
const hang = `: >"$STUBS/reached"; exec sleep 100
`
