package scripts_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"piecebench/servers"
)

// lacking is a host without nginx: /usr/sbin has nothing. Its apt-get notes
// whether services may start while it installs.
func lacking(t *testing.T, install string) (h *host, policy string) {
	h = newHost(t)
	sbin := filepath.Join(t.TempDir(), "sbin")
	if err := os.Mkdir(sbin, 0o755); err != nil {
		t.Fatal(err)
	}
	h.over["/usr/sbin"] = sbin
	h.stub("apt-get", `[ "$1" = install ] || exit 0
/usr/sbin/policy-rc.d; echo $? >"$STUBS/policy"
`+install)
	for _, program := range []string{"ip", "tc", "sysctl", "setpriv", "prometheus", "npm"} {
		h.stub(program, "")
	}
	return h, filepath.Join(sbin, "policy-rc.d")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestAnInterruptedSetupLetsServicesStartAgain(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGALRM} {
		h, policy := lacking(t, hang)
		s := h.start("scripts/setup")
		h.await(h.note("reached"))
		s.signal(signal)
		if code := s.code(); code == 0 || code == 99 {
			t.Errorf("%v: exit code %d: %s", signal, code, &s.said)
		}
		if got := h.read(h.note("policy")); got != "101" {
			t.Errorf("while it installs, policy-rc.d says %s, want 101", got)
		}
		if exists(policy) {
			t.Errorf("%v leaves policy-rc.d", signal)
		}
	}
}

func TestASetupAfterOneThatWasKilledRemovesWhatThatLeft(t *testing.T) {
	h, policy := lacking(t, hang)
	s := h.start("scripts/setup")
	h.await(h.note("reached"))
	s.signal(syscall.SIGKILL)
	s.code()
	if !exists(policy) {
		t.Fatal("a setup that is killed leaves nothing, so that this test shows nothing")
	}
	h.stub("nginx", "") // nothing is missing any more
	if s := h.start("scripts/setup"); s.code() != 0 || exists(policy) {
		t.Errorf("the next setup leaves policy-rc.d: %s", &s.said)
	}
}

func TestSetupKeepsThePolicyOfTheHost(t *testing.T) {
	h, policy := lacking(t, "")
	const own = "#!/bin/sh\nexit 101\n"
	h.write(policy, own)
	for range 2 { // the second as after one that was killed
		if s := h.start("scripts/setup"); s.code() != 0 {
			t.Errorf("%s", &s.said)
		}
		if !exists(policy) || h.read(policy) != strings.TrimSpace(own) {
			t.Error("the host's own policy-rc.d is gone")
		}
	}
}

// A test that is skipped in continuous integration shows nothing.
func TestSetupInstallsEveryProgramThatTestsNeed(t *testing.T) {
	setup, err := os.ReadFile("../../scripts/setup")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range servers.All() {
		for program := range r.Packages {
			setup = append(setup, program+":"...)
		}
	}
	calls, quoted := regexp.MustCompile(`testneeds\.Program\(t, ([^)]*)\)`), regexp.MustCompile(`"([^"]+)"`)
	found := 0
	err = filepath.WalkDir("../..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, call := range calls.FindAllSubmatch(source, -1) {
			for _, name := range quoted.FindAllSubmatch(call[1], -1) {
				found++
				if !strings.Contains(string(setup), string(name[1])+":") {
					t.Errorf("%s needs %s, which scripts/setup does not install", path, name[1])
				}
			}
		}
		return err
	})
	if err != nil || found == 0 {
		t.Error(found, err)
	}
}

func TestSetupInstallsTheServersThatAreNamed(t *testing.T) {
	for _, c := range []struct {
		targets, want string
	}{
		{targets: "", want: "nginx-light"},
		{targets: "gateway, other,mine=http://host/piece/{piece}", want: "a-package"},
		{targets: "raw,other", want: "a-package nginx-light"},
		{targets: "mine=http://host/piece/{piece}", want: ""},
	} {
		h, _ := lacking(t, `echo "$*" >"$STUBS/installs"`)
		h.write(h.note("installs"), "")
		folder := filepath.Join(h.checkout, "servers", "a")
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		h.write(filepath.Join(folder, "recipe.yml"), "target: other\nport: 1\npackages:\n  no-such-program: a-package\nserves: [pieces]\n")
		t.Setenv("TARGETS", c.targets)
		s := h.start("scripts/setup")
		if s.code() != 0 || strings.TrimPrefix(h.read(h.note("installs")), "install -y -q --no-install-recommends ") != c.want {
			t.Errorf("TARGETS=%s: it asks apt-get to %s, want %q\n%s", c.targets, h.read(h.note("installs")), c.want, &s.said)
		}
	}
}
