package scripts_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// docker is a container engine that notes what it is asked, and whose runner is
// as the file status says: see docker inspect. Up, logs and down are lines of sh.
func withDocker(t *testing.T, up, logs, down string) *host {
	h := newHost(t)
	h.write(h.note("status"), "running\n")
	h.write(h.note("code"), "0\n")
	h.stub("docker", `echo "$*" >>"$STUBS/asked"
case "$*" in
"compose up --detach --wait "*)
	`+up+` ;;
"compose down "*)
	`+down+` ;;
"compose run "*) printf '%s\n' results/x {} "nginx gateway" 8080,7777 ;;
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

func (h *host) wantAsked(s *script, what string) {
	h.t.Helper()
	if !strings.Contains(h.read(h.note("asked")), what) {
		h.t.Errorf("docker is never asked to %s:\n%s\n%s", what, h.read(h.note("asked")), &s.said)
	}
}

func TestASignalWhileTheLabStartsLeavesNothing(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR2, syscall.SIGALRM} {
		h := withDocker(t, hang, ":", ":")
		s := h.start("scripts/compose", "bench")
		h.await(h.note("reached"))
		s.signal(signal)
		if code := s.code(); code != 1 && code != 2 {
			t.Errorf("%v: exit code %d: %s", signal, code, &s.said)
		}
		h.wantAsked(s, "compose down")
	}
}

func TestALabThatCannotBeRemovedIsSaid(t *testing.T) {
	h := withDocker(t, "exit 1", ":", "echo no such luck >&2; exit 1")
	s := h.start("scripts/compose", "up")
	if code := s.code(); code != 2 || !strings.Contains(s.said.String(), "not removed") {
		t.Errorf("exit code %d: %s", code, &s.said)
	}
}

func TestBadInputStartsNothing(t *testing.T) {
	h := withDocker(t, ":", ":", ":")
	h.stub("docker", `echo "$*" >>"$STUBS/asked"; case "$*" in "compose run "*) echo "PIECES=0: want a number" >&2; exit 2 ;; esac`)
	s := h.start("scripts/compose", "bench")
	if code := s.code(); code != 2 || !strings.Contains(s.said.String(), "PIECES=0") || strings.Contains(h.read(h.note("asked")), "compose up") {
		t.Errorf("exit code %d: %s\n%s", code, &s.said, h.read(h.note("asked")))
	}
}

func TestTheRunnerGetsWhatWasPrepared(t *testing.T) {
	h := withDocker(t, ":", ":", ":")
	h.stub("inner", h.read(h.note("docker")))
	const job = `{"Settings":{"URL":"http://h/{piece}?a=1\u0026b=2"},"Out":"results/x"}`
	h.stub("docker", `case "$*" in
"compose run "*) printf '%s\n' results/x '`+job+`' "nginx gateway" 8080,7777 ;;
"compose up --detach --no-deps "*) printf '%s' "$PIECEBENCH_JOB" >"$STUBS/job"; echo exited >"$STUBS/status" ;;
*) exec "$STUBS/inner" "$@" ;;
esac`)
	if s := h.start("scripts/compose", "bench"); s.code() != 0 {
		t.Errorf("%s", &s.said)
	}
	if got := h.read(h.note("job")); got != job {
		t.Errorf("the runner gets the job %s, want %s", got, job)
	}
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
		s.signal(signal)
		if code := s.code(); code != 1 || !strings.Contains(s.said.String(), "what is done is kept") {
			t.Errorf("%v: exit code %d, want the runner's 1: %s", signal, code, &s.said)
		}
		h.wantAsked(s, "kill --signal TERM runner")
		h.wantAsked(s, "compose rm --stop --force bench netem nginx gateway")
	}
}

func TestAScriptOfOnesOwnIsMountedWhereItLies(t *testing.T) {
	h := withDocker(t, ":", ":", ":")
	folder := filepath.Join(h.checkout, "my own")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	h.write(filepath.Join(folder, "mine.js"), "")
	h.stub("docker", `echo "$WORKLOAD in $PIECEBENCH_WORKLOAD" >"$STUBS/workload"`)
	for given, want := range map[string]string{
		"my own/mine.js":                   folder + "/mine.js in " + folder,
		filepath.Join(folder, "mine.js"):   folder + "/mine.js in " + folder,
		"retrieval":                        "retrieval in",
		filepath.Join(folder, "absent.js"): "",
	} {
		t.Setenv("WORKLOAD", given)
		s := h.start("scripts/compose", "plan")
		if code := s.code(); want == "" {
			if code != 2 || !strings.Contains(s.said.String(), "no such file") {
				t.Errorf("WORKLOAD=%s: exit code %d: %s", given, code, &s.said)
			}
		} else if got := h.read(h.note("workload")); code != 0 || got != want {
			t.Errorf("WORKLOAD=%s: exit code %d, %q, want %q: %s", given, code, got, want, &s.said)
		}
	}
}

func TestTheContentOfTheLimitsGoesAlong(t *testing.T) {
	h := withDocker(t, ":", ":", ":")
	limits := filepath.Join(h.checkout, "my limits.yaml")
	h.write(limits, "- target: raw\n  ttfb_p95: $HOME 1s\n")
	h.write(filepath.Join(h.checkout, "empty.yaml"), "")
	for _, c := range []struct{ command, slo, want, says string }{
		{"capacity", limits, limits + ": - target: raw\n  ttfb_p95: $HOME 1s", ""},
		{"capacity", "my limits.yaml", "my limits.yaml: - target: raw\n  ttfb_p95: $HOME 1s", ""},
		{"bench", limits, ":", ""},
		{"capacity", "empty.yaml", "", "SLO=empty.yaml: there is no such file, or it is empty"},
		{"capacity", "absent.yaml", "", "SLO=absent.yaml: there is no such file"},
		{"capacity", "", "", "capacity needs the file of limits: SLO=FILE"},
	} {
		h.write(h.note("limits"), "")
		h.stub("docker", `case "$*" in "compose run "*) printf '%s: %s' "${SLO:-}" "${PIECEBENCH_SLO:-}" >"$STUBS/limits"; exit 2 ;; esac`)
		t.Setenv("SLO", c.slo)
		s := h.start("scripts/compose", c.command)
		if code := s.code(); code != 2 || !strings.Contains(s.said.String(), c.says) || h.read(h.note("limits")) != c.want {
			t.Errorf("%s with SLO=%s: exit code %d, limits %q, want %q: %s", c.command, c.slo, code, h.read(h.note("limits")), c.want, &s.said)
		}
	}
}
