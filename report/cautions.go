package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"piecebench/bench/bottleneck"
	"piecebench/bench/compare"
	"piecebench/bench/result"
)

// maxNamed is how many cells a flag names before it only counts the others.
const maxNamed = 4

// caution is something that a reader must know before using the figures: what
// is the case, and what to do about it.
type caution struct {
	kind string // a word or two
	text string
}

func (v *view) cautions() []caution {
	var all []caution
	add := func(kind, format string, args ...any) {
		all = append(all, caution{kind, fmt.Sprintf(format, args...)})
	}
	run := v.run
	if n := len(run.Cells); n < run.Planned {
		add("incomplete", "%d of %s are here. Run only what is missing with: make bench RESUME=results/%s", n, count(run.Planned, "planned cell"), run.ID)
	} else if run.Finished == nil {
		add("incomplete", "The run did not end in an orderly way, though all its cells are here.")
	}
	for _, c := range run.Calibrations {
		if c.HostLimited {
			add("host-limited", "%s: this machine, not the link, sets the ceiling (%s Mbit/s where the link allows %s). "+
				"Targets can be compared; the figures are not what this link gives. Run the clients on a machine with more cores.",
				c.Link, megabits(float64(c.CeilingBits)), megabits(float64(c.ExpectedBits)))
			continue // its notes are the evidence for this, and stand under Calibration
		}
		for _, note := range c.Notes {
			add("calibration", "%s: %s", c.Link, note)
		}
	}
	drift := func(what string, before, after int64) {
		if share, known := result.Drift(before, after); known && math.Abs(share) > result.DriftTolerance {
			add("drift", "%s was measured as %s Mbit/s before the sweep and %s after it (%+.0f %%): something else changed on this machine meanwhile. "+
				"Trust differences of neighbouring cells only, and run it again when nothing else does.", what, megabits(float64(before)), megabits(float64(after)), 100*share)
		}
	}
	for _, c := range run.Calibrations {
		drift("The ceiling of "+linkName(c.Link), c.CeilingBits, c.CeilingAfterBits)
	}
	if g := run.Generator; g != nil {
		drift("The generator’s ceiling", g.CeilingBits, g.CeilingAfterBits)
	}
	v.eachFigures(func(r row, target string, f *figures) string {
		for _, c := range f.cells {
			if bottleneck.Late(c) {
				return fmt.Sprintf("%s, %s (%s of the packets)", target, r.place(), wholePercent(c.Evidence.Emulator.Late))
			}
		}
		return ""
	}, func(n int, named string) {
		add("late", "%s in which the emulated delay was more than 1 ms too long for at least half of the packets, so that TTFB and duration are too: %s. "+
			"Run the clients on a machine with more cores.", count(n, "cell"), named)
	})
	v.eachFigures(func(r row, target string, f *figures) string {
		if !f.machine() {
			return ""
		}
		return fmt.Sprintf("%s, %s (%s)", target, r.place(), f.limitedBy)
	}, func(n int, named string) {
		add("limited by this machine", "%s that the generator, the host or the emulated link limited: %s. They say little about a server, "+
			"and the answer leaves their rows out. Run the clients on a machine with more cores.", count(n, "cell"), named)
	})
	v.eachFigures(func(r row, target string, f *figures) string {
		if f.corrupt() == 0 {
			return ""
		}
		return fmt.Sprintf("%s, %s: %s", target, r.place(), count(f.corrupt(), "request"))
	}, func(n int, named string) {
		add("wrong data", "%s in which a server sent bytes that are not the piece’s: %s.", count(n, "cell"), named)
	})
	v.eachFigures(func(r row, target string, f *figures) string {
		if !slices.ContainsFunc(f.cells, result.Cell.CountsFailed) {
			return ""
		}
		return target + ", " + r.place()
	}, func(n int, named string) {
		add("older run", "%s whose goodput includes the bytes of failed requests, as an older piecebench counted them: %s.", count(n, "cell"), named)
	})
	v.eachFigures(func(r row, target string, f *figures) string {
		if f.failed == 0 {
			return ""
		}
		text := fmt.Sprintf("%s, %s: %s", target, r.place(), count(int(f.failed), "request"))
		reasons := f.statuses()
		for _, c := range f.cells {
			if len(c.FirstErrors) > 0 {
				reasons = append(reasons, c.FirstErrors[0])
				break
			}
		}
		if len(reasons) == 0 {
			return text
		}
		return text + " (" + strings.Join(reasons, ", ") + ")"
	}, func(n int, named string) {
		add("failures", "%s with failed requests: %s.", count(n, "cell"), named)
	})
	v.eachFigures(func(r row, target string, f *figures) string {
		if f.ok+f.failed > 0 {
			return ""
		}
		return target + ", " + r.place()
	}, func(n int, named string) {
		add("nothing ended", "%s in which no request ended inside the window, so that durations are lower bounds: %s. "+
			"A longer DURATION shows more.", count(n, "cell"), named)
	})
	v.eachFigures(func(r row, target string, _ *figures) string {
		hidden, ok := r.compare(slices.Index(v.targets, target)).Noisy(compare.DefaultMargin)
		if !ok {
			return ""
		}
		return fmt.Sprintf("%s, %s (%s)", target, r.place(), hiddenShare(hidden))
	}, func(n int, named string) {
		add("noise", "%s in which the noise between repetitions is larger than the difference to %s, and would hide one of more than %s: %s. "+
			"A longer DURATION or a greater REPEAT shows more.", count(n, "cell"), v.targets[0], wholePercent(compare.DefaultMargin), named)
	})
	return all
}

// hiddenShare writes how large a difference could hide in noise.
func hiddenShare(share float64) string {
	if share >= 10 {
		return "more than tenfold"
	}
	return "up to " + wholePercent(share)
}

// eachFigures collects what name says of each target's figures, if anything,
// and reports how many there were and the first few.
func (v *view) eachFigures(name func(row, string, *figures) string, report func(n int, named string)) {
	n, named := 0, ""
	for _, r := range v.rows() {
		for t, f := range r.figures {
			if f == nil {
				continue
			}
			text := name(r, v.targets[t], f)
			if text == "" {
				continue
			}
			n++
			if n > 1 && n <= maxNamed {
				named += "; "
			}
			if n <= maxNamed {
				named += text
			}
		}
	}
	if n > maxNamed {
		named += fmt.Sprintf("; and %d more", n-maxNamed)
	}
	if n > 0 {
		report(n, named)
	}
}
