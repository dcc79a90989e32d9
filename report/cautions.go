package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"piecebench/bench/bottleneck"
	"piecebench/bench/compare"
	"piecebench/bench/result"
	"piecebench/records"
)

// Cautions are what a reader must know before using the figures.
func (v *View) Cautions() []Caution {
	return slices.Concat(v.ofRun(), v.ofLinks(), v.ofCells())
}

func (v *View) ofRun() (all []Caution) {
	run := v.Run
	if run.Capacity != nil && run.Finished == nil {
		return []Caution{{"incomplete", fmt.Sprintf("The search has not ended. Continue it with: make capacity SLO=%s RESUME=results/%s", run.Capacity.File, run.ID)}}
	}
	if n := len(run.Cells); n < run.Planned {
		all = append(all, Caution{"incomplete", fmt.Sprintf("%d of %s are here. Run only what is missing with: make bench RESUME=results/%s", n, count(run.Planned, "planned cell"), run.ID)})
	} else if run.Finished == nil {
		all = append(all, Caution{"incomplete", "All cells are here, but the run did not end normally."})
	}
	if run.Settings["INSECURE"] != "" {
		all = append(all, Caution{"insecure", "Certificates were not checked (INSECURE=yes): another server than the one that was meant may have answered. Give the authority’s certificate in SSL_CERT_FILE instead."})
	}
	return all
}

func (v *View) ofLinks() (all []Caution) {
	add := func(kind, format string, args ...any) {
		all = append(all, Caution{kind, fmt.Sprintf(format, args...)})
	}
	for _, c := range v.Run.Calibrations {
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
			add("drift", "%s was measured as %s Mbit/s before the sweep and %s after it (%+.0f %%): something else on this machine changed meanwhile. "+
				"Trust only differences between neighbouring cells, and run it again on a quiet machine.", what, megabits(float64(before)), megabits(float64(after)), 100*share)
		}
	}
	for _, c := range v.Run.Calibrations {
		drift("The ceiling of "+result.LinkName(c.Link), c.CeilingBits, c.CeilingAfterBits)
	}
	if g := v.Run.Generator; g != nil {
		drift("The generator’s ceiling", g.CeilingBits, g.CeilingAfterBits)
	}
	return all
}

// concern is something that cells can have in common. Its text takes the number of cells and
// the names of the first few.
type concern struct {
	kind, text string
	cell       func(result.Cell) bool
	detail     func(*Figures) string // after a name
}

func nothing(*Figures) string { return "" }

var concerns = []concern{
	{"late", "In %s the emulated delay was more than 1 ms too long for at least half of the packets, so TTFB and duration are too long as well: %s. " +
		"Run the clients on a machine with more cores.", bottleneck.Late, func(f *Figures) string {
		late := f.Cells[slices.IndexFunc(f.Cells, bottleneck.Late)].Evidence.Emulator.Late
		return fmt.Sprintf(" (%s of the packets)", wholePercent(late))
	}},
	{"limited by this machine", "The generator, the host or the emulated link limited %s: %s. They say little about a server, " +
		"and the answer leaves their rows out. Run the clients on a machine with more cores.", bottleneck.DecidedByMachine,
		func(f *Figures) string { return " (" + f.LimitedBy + ")" }},
	{"wrong data", "In %s a server sent bytes that are not the piece’s: %s.",
		func(c result.Cell) bool { return c.Failed[records.Corrupt] > 0 },
		func(f *Figures) string { return ": " + count(f.Failures(records.Corrupt), "request") }},
	{"older run", "The goodput of %s includes the bytes of failed requests, as an older piecebench counted them: %s.", result.Cell.CountsFailed, nothing},
	{"failures", "Requests failed in %s: %s.", func(c result.Cell) bool { return c.RequestsFailed() > 0 }, (*Figures).failure},
	{"nothing ended", "In %s no request ended inside the window, so durations are lower bounds: %s. A longer DURATION shows more.",
		func(c result.Cell) bool { return c.RequestsOK+c.RequestsFailed() == 0 }, nothing},
}

// failure counts the failed requests, with their statuses and the first error.
func (f *Figures) failure() string {
	reasons := f.statuses()
	if i := slices.IndexFunc(f.Cells, func(c result.Cell) bool { return len(c.FirstErrors) > 0 }); i >= 0 {
		reasons = append(reasons, f.Cells[i].FirstErrors[0])
	}
	text := ": " + count(int(f.Failed), "request")
	if len(reasons) > 0 {
		text += " (" + strings.Join(reasons, ", ") + ")"
	}
	return text
}

func (v *View) ofCells() (all []Caution) {
	for _, c := range concerns {
		n := 0
		var names []string
		for _, f := range All(v.Rows) {
			before := n
			for _, cell := range f.Cells {
				if c.cell(cell) {
					n++
				}
			}
			if n > before {
				names = append(names, f.name()+c.detail(f))
			}
		}
		if n > 0 {
			all = append(all, Caution{c.kind, fmt.Sprintf(c.text, fmt.Sprintf("%d of %s", n, count(len(v.Run.Cells), "cell")), Enumerate(names))})
		}
	}
	var noisy []string
	for _, f := range All(v.Rows) {
		if hidden, ok := f.Compared().Noisy(compare.DefaultMargin); ok {
			noisy = append(noisy, f.name()+" ("+Hidden(hidden)+")")
		}
	}
	if noisy != nil {
		all = append(all, Caution{"noise", fmt.Sprintf("In %s the noise between repetitions is larger than the difference to %s and could hide one of more than %s: %s. "+
			"A longer DURATION or a greater REPEAT shows more.", count(len(noisy), "comparison"), v.Targets[0], wholePercent(compare.DefaultMargin), Enumerate(noisy))})
	}
	return all
}

// name is that of a target in a row.
func (f *Figures) name() string { return f.Target + ", " + f.Row.String() }
