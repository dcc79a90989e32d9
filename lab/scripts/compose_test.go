package scripts_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const (
	allowedPath = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"
	allowed     = "bbr reno" // on the host, before
)

// docker is a container engine that notes what it is asked, and whose runner is
// as the file status says: see docker inspect. Up, logs and down are lines of sh.
func withDocker(t *testing.T, up, logs, down string) *host {
	h := newHost(t)
	list := filepath.Join(t.TempDir(), "allowed")
	h.write(list, allowed+"\n")
	h.over[allowedPath] = list
	h.write(h.note("status"), "running\n")
	h.write(h.note("code"), "0\n")
	h.stub("docker", `echo "$*" >>"$STUBS/asked"
case "$*" in
"compose up --detach --wait "*)
	`+up+` ;;
"compose down "*)
	`+down+` ;;
"compose ps --all --quiet bench") echo runner ;;
"logs --follow "*)
	`+logs+` ;;
"kill --signal TERM runner") echo exited >"$STUBS/status"; echo 1 >"$STUBS/code" ;;
"inspect --format {{.State.Status}} runner") cat "$STUBS/status" ;;
"inspect --format {{.State.ExitCode}} runner") cat "$STUBS/code" ;;
esac
`)
	return h
}

func (h *host) wantAllowed(when, want string) {
	h.t.Helper()
	if got := h.read(h.over[allowedPath]); got != want {
		h.t.Errorf("%s the host allows the congestion controls %q, want %q", when, got, want)
	}
}

func (h *host) wantAsked(s *script, what string) {
	h.t.Helper()
	if !strings.Contains(h.read(h.note("asked")), what) {
		h.t.Errorf("docker is never asked to %s:\n%s\n%s", what, h.read(h.note("asked")), &s.said)
	}
}

// allows is a line of the stub: it notes what the host allows while the lab starts.
const allows = `cat ` + allowedPath + ` >"$STUBS/meanwhile"; `

func TestASignalWhileTheLabStartsLeavesNothing(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR2, syscall.SIGALRM} {
		h := withDocker(t, allows+hang, ":", ":")
		s := h.start("scripts/compose", "bench")
		h.await(h.note("reached"))
		s.signal(signal)
		if code := s.code(); code != 1 && code != 2 {
			t.Errorf("%v: exit code %d: %s", signal, code, &s.said)
		}
		if got := h.read(h.note("meanwhile")); got != allowed+" cubic" {
			t.Errorf("while the lab starts the host allows %q", got)
		}
		h.wantAllowed("after "+signal.String(), allowed)
		h.wantAsked(s, "compose down")
	}
}

func TestALabThatCannotBeRemovedDoesNotKeepTheHostChanged(t *testing.T) {
	h := withDocker(t, "exit 1", ":", "echo no such luck >&2; exit 1")
	s := h.start("scripts/compose", "up")
	if code := s.code(); code != 2 || !strings.Contains(s.said.String(), "not removed") {
		t.Errorf("exit code %d: %s", code, &s.said)
	}
	h.wantAllowed("afterwards", allowed)
}

func TestTheNextScriptPutsBackWhatOneThatWasKilledChanged(t *testing.T) {
	killed := func(t *testing.T) *host {
		h := withDocker(t, hang, ":", ":")
		s := h.start("scripts/compose", "up")
		h.await(h.note("reached"))
		s.signal(syscall.SIGKILL)
		s.code()
		h.wantAllowed("after SIGKILL", allowed+" cubic") // else this test shows nothing
		return h
	}
	h := killed(t)
	if s := h.start("scripts/compose", "down"); s.code() != 0 {
		t.Errorf("%s", &s.said)
	}
	h.wantAllowed("after the next script", allowed)

	h = killed(t)
	h.write(h.over[allowedPath], "dctcp\n") // by the administrator, meanwhile
	if s := h.start("scripts/compose", "down"); s.code() != 0 {
		t.Errorf("%s", &s.said)
	}
	h.wantAllowed("after a change by somebody else", "dctcp")
}

func TestAnotherScriptLeavesAloneWhatOneThatRunsHasChanged(t *testing.T) {
	h := withDocker(t, hang, ":", ":")
	s := h.start("scripts/compose", "up")
	h.await(h.note("reached"))
	if s := h.start("scripts/compose", "down"); s.code() != 0 {
		t.Errorf("%s", &s.said)
	}
	h.wantAllowed("while the lab starts", allowed+" cubic")
	s.signal(syscall.SIGTERM)
	s.code()
	h.wantAllowed("afterwards", allowed)
}

// The first docker logs ends while the runner runs; during the next one it ends.
const endsEarly = `if [ -e "$STUBS/early" ]; then
		echo exited >"$STUBS/status"; echo 1 >"$STUBS/code"; echo "the run found a problem"
	else
		: >"$STUBS/early"; echo "the run begins"
	fi`

func TestALogThatEndsEarlyDoesNotPassForASuccess(t *testing.T) {
	h := withDocker(t, ":", endsEarly, ":")
	s := h.start("scripts/compose", "bench")
	if code := s.code(); code != 1 || !strings.Contains(s.said.String(), "the run found a problem") {
		t.Errorf("exit code %d, want the runner's 1: %s", code, &s.said)
	}
	h.wantAsked(s, "compose rm --stop --force bench netem nginx gateway")
}

func TestAnEngineThatGoesAwayDoesNotPassForASuccess(t *testing.T) {
	h := withDocker(t, ":", `rm "$STUBS/status"`, ":")
	h.stub("sleep", "") // nothing to wait for
	s := h.start("scripts/compose", "bench")
	if code := s.code(); code != 2 || !strings.Contains(s.said.String(), "make down") {
		t.Errorf("exit code %d: %s", code, &s.said)
	}
}

func TestASignalEndsTheRunnerAndRemovesTheLab(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1} {
		h := withDocker(t, ":", `grep -q exited "$STUBS/status" && echo "what is done is kept" || { `+hang+`}`, ":")
		s := h.start("scripts/compose", "bench")
		h.await(h.note("reached"))
		h.wantAllowed("while the runner runs", allowed)
		s.signal(signal)
		if code := s.code(); code != 1 || !strings.Contains(s.said.String(), "what is done is kept") {
			t.Errorf("%v: exit code %d, want the runner's 1: %s", signal, code, &s.said)
		}
		h.wantAsked(s, "kill --signal TERM runner")
		h.wantAsked(s, "compose rm --stop --force bench netem nginx gateway")
	}
}
