package selftest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"piecebench/bench/compare"
	"piecebench/lab/labtest"
)

// How long a request takes. The slower server delivers 95 % of what the other does.
const (
	pace       = 50 * time.Millisecond
	slowerPace = pace * 100 / 95
)

// A server under two names, and one that is 5 % slower: REPEAT=5 tells which.
func TestComparisonFindsFivePercentAndNothingWhereNothingIs(t *testing.T) {
	install := labtest.Install(t, "piecebench", "k6")
	data := labtest.Dataset(t)
	machine := watchOthers(t, install)
	inTime := paced(t, data, pace)
	late := paced(t, data, slowerPace)

	// An interval of 99 % misses the truth once in 100 times: a second sweep decides.
	// Without noise it has no width, and the truth is known to a request of a cell's 570.
	const attempts, aRequest = 2, 1.0 / 570
	for attempt := 1; ; attempt++ {
		started := time.Now()
		dir := filepath.Join(t.TempDir(), "run")
		sweep := piecebench(install, "run", "--targets", "server="+inTime+",again="+inTime+",slower="+late, "--links", "none", "--modes", "1KiB",
			"--concurrency", "20,", "--repeat", "5", "--duration", "1500ms", "--warmup", "1s", "--manifest", filepath.Join(data, "pieces.json"), "--out", dir)
		if out, err := sweep.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		run := load(t, dir)
		missed := false
		for target, truth := range map[string]float64{"again": 0, "slower": -0.05} {
			c, err := compare.Runs(run, run, []string{"server", target})
			if err != nil {
				t.Fatal(err)
			}
			e := c.Rows[0].Estimates[0]
			t.Logf("%s: goodput %+.2f %% (%+.2f to %+.2f), truth %+.0f %%: %s", target, 100*e.Change, 100*e.Low, 100*e.High, 100*truth, e.Verdict(compare.DefaultMargin))
			tooWide := e.High-e.Low > 2*compare.DefaultMargin // to tell 5 % from nothing
			missed = missed || tooWide || !e.Judged() || e.Low > truth+aRequest || e.High < truth-aRequest
		}
		busy := machine.share(started, time.Now())
		t.Logf("other work took %.0f %% of this machine", 100*busy)
		switch {
		case !missed:
			checkExitCodes(t, install, dir)
			return
		case attempt < attempts:
		case machine.fill(started, time.Now()):
			t.Skipf("SKIPPED: that compare finds 5 %% is NOT tested: other work took %.0f %% of this machine, by the kernel's count", 100*busy)
		default:
			t.Fatal("the intervals do not contain the truth, or are too wide to tell 5 % from nothing, on a machine with CPU to spare")
		}
	}
}

// checkExitCodes holds the command to what the intervals say.
func checkExitCodes(t *testing.T, install, dir string) {
	t.Helper()
	for target, want := range map[string]struct {
		beyond string
		code   int
		says   string
	}{
		"again":  {"3%", 0, "no difference"},
		"slower": {"0%", 1, "worse by more than 0 %: goodput"},
	} {
		cmd := piecebench(install, "compare", dir, "--targets", "server,"+target, "--fail-beyond", want.beyond)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != want.code || !strings.Contains(string(out), want.says) {
			t.Errorf("compare with %s: exit code %d, want %d and %q in\n%s", target, code, want.code, want.says, out)
		}
	}
}

func piecebench(install string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(install, "bin", "piecebench"), args...)
	cmd.Env = append(os.Environ(), "PROMETHEUS_URL=")
	return cmd
}

// paced starts a server that answers each connection's requests by a timetable,
// one in each period: whoever asks again at once gets exactly so many, also
// where a busy machine makes one of them late.
func paced(t *testing.T, data string, period time.Duration) (target string) {
	pieces := http.StripPrefix("/piece/", http.FileServer(http.Dir(filepath.Join(data, "flat"))))
	type due struct{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next := r.Context().Value(due{}).(*time.Time)
		if next.IsZero() {
			*next = time.Now()
		}
		*next = next.Add(period)
		time.Sleep(time.Until(*next))
		pieces.ServeHTTP(w, r)
	}))
	server.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, due{}, new(time.Time))
	}
	server.Start()
	t.Cleanup(server.Close)
	return server.URL + "/piece/{piece}"
}
