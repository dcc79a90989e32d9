package report_test

import (
	"testing"

	"piecebench/bench/result"
	"piecebench/report/markdown"
	"piecebench/report/page"
	"piecebench/report/text"
)

// searched is a run that found one answer.
func searched(a result.CapacityAnswer) *result.Run {
	run := synthetic(sweep{targets: []string{"mine"}, links: []string{"1gbit/40ms"}, modes: []string{"1MiB"}, concurrency: []int{16, 256}, repeat: 1})
	a.Target, a.Link, a.Mode, a.Most, a.Cells, a.Done = "mine", "1gbit/40ms", "1MiB", 1000, len(run.Cells), true
	run.Planned = len(run.Cells)
	run.Capacity = &result.Capacity{File: "limits.yaml", Limits: "- ttfb_p95: 200ms\n", AtLeast: 1, Answers: []result.CapacityAnswer{a}}
	return run
}

func TestTheAnswerOfASearchIsInEveryForm(t *testing.T) {
	beyond := &result.CapacityAt{Clients: 256, Failed: 2, Confidence: 0.75}
	failure := &result.CapacityFailure{Cell: 2, Clients: 256, Limits: []string{"TTFB p95 is 240ms; it must be at most 200ms"}, LimitedBy: "server", Because: "it is slow"}
	held := &result.CapacityAt{Clients: 250, Held: 2, Failed: 1, Confidence: 0.5}
	for _, c := range []struct {
		answer result.CapacityAnswer
		want   []string
	}{
		{result.CapacityAnswer{Clients: 250, Held: held, Beyond: beyond, Failure: failure},
			[]string{"mine serves 250 clients within limits.yaml (1MiB, 1gbit/40ms).", "250: 2 held, 1 failed (50 %)", "256: 2 of 2 failed (75 %)",
				"with 256 clients, TTFB p95 is 240ms; it must be at most 200ms (cell 2; limited by server: it is slow)"}},
		{result.CapacityAnswer{Clients: 1000, AtLeast: result.AtLeastMost, Held: &result.CapacityAt{Clients: 1000, Held: 2, Confidence: 0.75}},
			[]string{"mine serves at least 1000 clients", "all limits hold with 1000, the most that this search allowed"}},
		{result.CapacityAnswer{Clients: 250, AtLeast: result.AtLeastMachine, Held: held, Beyond: &result.CapacityAt{Clients: 256, NotJudged: 2}},
			[]string{"mine serves at least 250 clients", "256: 2 of 2 not judged", "this machine could not load it further"}},
		{result.CapacityAnswer{AtLeast: result.AtLeastMachine, Beyond: &result.CapacityAt{Clients: 1, NotJudged: 2}},
			[]string{"mine serves a number of clients that is not known"}},
		{result.CapacityAnswer{Beyond: &result.CapacityAt{Clients: 1, Failed: 2}, Failure: failure},
			[]string{"mine serves not even 1 client", "the limits do not hold even with 1 client"}},
		{result.CapacityAnswer{Clients: 100, Held: held, Beyond: beyond, Failure: failure, Exceptions: []int{300, 400}},
			[]string{"its cells used up", "not monotonic: 256 clients failed, and 300, 400 held, which does not count"}},
	} {
		run := searched(c.answer)
		html, err := page.Run(t.TempDir(), run)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{text.Run(run, 1000), markdown.Run(run), string(html)} {
			wants(t, form, c.want...)
		}
	}
	unfinished := searched(result.CapacityAnswer{Clients: 16})
	unfinished.Finished, unfinished.Capacity.Answers[0].Done = nil, false
	wants(t, text.Run(unfinished, 1000), "mine serves a number of clients that is not known yet", "so far 16 held", "make capacity SLO=limits.yaml RESUME=results/")
}
