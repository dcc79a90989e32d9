package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"piecebench/internal/testneeds"
)

func TestDoctorsExitCodeIsThatOfTheWorstItFinds(t *testing.T) {
	p := newProgram(t)
	before := tree(t, p.dir)
	stdout, stderr, code := p.run("doctor", "--runtime", "native")
	want := 0
	switch {
	case strings.Contains(stdout, "BLOCKS "):
		want = 2
	case strings.Contains(stdout, "DISTORTS "):
		want = 1
	}
	if code != want || !strings.Contains(stdout, "the lab is native, as asked") {
		t.Errorf("exit code %d, want %d, of:\n%s%s", code, want, stdout, stderr)
	}
	if lines := strings.Count(stderr, "\n"); lines != min(want, 1) {
		t.Errorf("%d lines beside the findings: %q", lines, stderr)
	}
	if after := tree(t, p.dir); after != before {
		t.Errorf("left behind:\n%s", after)
	}
}

func TestDoctorWithoutRootSaysThatTheNativeLabCannotRun(t *testing.T) {
	testneeds.Root(t) // to become somebody else
	p := newProgram(t)
	for dir := p.install; dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := p.command("doctor", "--runtime", "native")
	cmd.Dir = p.install
	const nobody = 65534
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.Output()
	if e, ok := err.(*exec.ExitError); !ok || e.ExitCode() != 2 {
		t.Errorf("%v, want exit code 2", err)
	}
	if !strings.Contains(string(out), "BLOCKS    root: user ID 65534") {
		t.Errorf("nothing said of root:\n%s", out)
	}
}

func TestDoctorRefusesBadInputInOneLine(t *testing.T) {
	p := newProgram(t)
	for port, says := range map[string]string{"PROMETHEUS_PORT": "not a port", "CONCURRENCY": "whole number"} {
		t.Setenv(port, "many")
		stdout, stderr, code := p.run("doctor")
		if code != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, says) {
			t.Errorf("%s=many: exit code %d, said %q, %q", port, code, stdout, stderr)
		}
		t.Setenv(port, "")
	}
}
