package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"piecebench/bench/stats"
	"piecebench/records"
)

// Answer is what a reader who reads no further should know: a headline with its figures, and
// sentences that qualify it. Failed requests come before any ratio.
func (v *View) Answer() (headline string, more []string) {
	if len(v.Targets) == 0 {
		return "No cell was measured.", nil
	}
	if v.Run.Capacity != nil {
		return v.capacityAnswer()
	}
	for _, target := range v.Targets[1:] {
		if v.Run.HasJobs() {
			more = append(more, v.compareJobs(target), v.compareTTFB(target))
		} else {
			more = append(more, v.compareGoodput(target), v.compareTTFB(target))
		}
	}
	switch {
	case len(v.Targets) > 1:
		more = append(more, v.atCeiling())
	case v.Run.HasJobs():
		more = append(more, v.describeJobs())
	default:
		more = append(more, v.describeOne())
	}
	more = slices.DeleteFunc(append(more, v.jobSuccess(), v.success(), v.overhead()), func(s string) bool { return s == "" })
	return strings.TrimSpace(v.failures() + " " + more[0]), more[1:]
}

// compared is a row with a figure of it.
type compared struct {
	*Figures
	value stats.Range
}

// spread returns the median value, and the worst with its row: the least, or the greatest
// where more is worse.
func spread(all []compared, moreIsWorse bool) (median, worst stats.Range, of *Figures) {
	values := make([]stats.Range, len(all))
	for i, c := range all {
		values[i] = c.value
	}
	median, _ = stats.Median(values)
	byValue := func(a, b compared) int { return cmp.Compare(a.value.Low, b.value.Low) }
	if !moreIsWorse {
		least := slices.MinFunc(all, byValue)
		return median, least.value, least.Figures
	}
	worst, _ = stats.Greatest(values)
	return median, worst, slices.MaxFunc(all, byValue).Figures
}

// ranged writes what is known of a value, with words for a bound: "4.34", "at least 4.34",
// "between 1.00 and 2.00".
func ranged(r stats.Range) string {
	switch {
	case r.Known():
		return threeDigits(r.Low)
	case math.IsInf(r.High, 1):
		return "at least " + threeDigits(r.Low)
	case r.Low <= 0:
		return "at most " + threeDigits(r.High)
	}
	return "between " + threeDigits(r.Low) + " and " + threeDigits(r.High)
}

const (
	byMachine = "this machine limited"
	byLate    = "this machine limited, or in which the emulated delay was late,"
)

// leftOut counts the rows that show nothing about the servers, after a semicolon.
func leftOut(n int, why string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "; 1 row that " + why + " is left out"
	}
	return fmt.Sprintf("; %d rows that %s are left out", n, why)
}

func everyRow(n int) string {
	if n == 1 {
		return "the one row"
	}
	return fmt.Sprintf("all %d rows", n)
}

func (v *View) compareGoodput(target string) string {
	base := v.Targets[0]
	var all []compared
	machine := 0
	var nothing []*Row // in which only the baseline delivered nothing
	for _, f := range v.of(target) {
		e := f.Compared()
		switch {
		case !e.Judged():
			machine++
		case e.Known:
			all = append(all, compared{f, stats.Exactly(1 + e.Change)})
		case f.Base != nil && f.Goodput > 0:
			nothing = append(nothing, f.Row)
		}
	}
	dead := ""
	if nothing != nil {
		dead = fmt.Sprintf(" %s delivered nothing in %s in which %s did, such as %s.", base, count(len(nothing), "row"), target, nothing[0])
	}
	switch {
	case len(all) == 0 && machine > 0:
		return fmt.Sprintf("This machine limited %s of %s and %s, so they do not show how the two differ.", everyRow(machine), target, base) + dead
	case len(all) == 0:
		return fmt.Sprintf("%s and %s have no row in common that delivered anything, so there is no comparison.", target, base) + dead
	}
	median, worst, of := spread(all, false)
	figures := fmt.Sprintf("(%s: %s against %s Mbit/s)%s.", of.Row, megabits(of.Goodput), megabits(of.Base.Goodput), leftOut(machine, byMachine)) + dead
	if len(all) == 1 {
		return fmt.Sprintf("%s delivered %s of %s’s goodput in the one row that shows it %s", target, wholePercent(median.Low), base, figures)
	}
	return fmt.Sprintf("%s delivered %s of %s’s goodput in the median row and %s in the worst of %d rows %s",
		target, wholePercent(median.Low), base, wholePercent(worst.Low), len(all), figures)
}

func (v *View) compareTTFB(target string) string {
	base := v.Targets[0]
	var all []compared
	machine := 0
	for _, f := range v.of(target) {
		ratio, ok := f.ttfbRatio()
		switch {
		case !ok:
		case !f.timesJudged():
			machine++
		default:
			all = append(all, compared{f, ratio})
		}
	}
	switch {
	case len(all) == 0 && machine > 0:
		return fmt.Sprintf("TTFB is not compared: this machine limited %s of %s and %s, or the emulated delay was late there.", everyRow(machine), target, base)
	case len(all) < 2:
		return ""
	}
	median, worst, of := spread(all, true)
	return fmt.Sprintf("%s’s TTFB (95th percentile) was %s times that of %s in the median row and %s times in the worst of %d rows (%s: %s against %s)%s.",
		target, ranged(median), base, ranged(worst), len(all), of.Row,
		Quantile(of.TTFB.P95, false), Quantile(of.Base.TTFB.P95, false), leftOut(machine, byLate))
}

// describeOne compares the only target with the link or, without a ceiling, with itself.
func (v *View) describeOne() string {
	name := v.Targets[0]
	var judged, machine []*Figures
	for _, f := range v.of(name) {
		if f.byMachine() {
			machine = append(machine, f)
		} else {
			judged = append(judged, f)
		}
	}
	rest := leftOut(len(machine), byMachine)
	if judged == nil {
		judged, rest = machine, fmt.Sprintf("; this machine limited %s, so the figures show the machine more than %s", everyRow(len(machine)), name)
	}
	var shares, rates []compared
	for _, f := range judged {
		rates = append(rates, compared{f, stats.Exactly(f.Goodput)})
		if share, ok := f.Share(); ok {
			shares = append(shares, compared{f, stats.Exactly(share)})
		}
	}
	if len(shares) < len(rates) {
		median, worst, at := spread(rates, false)
		_, best, bestAt := spread(rates, true)
		return fmt.Sprintf("%s delivered %s Mbit/s in the median row, from %s (%s) to %s (%s)%s.",
			name, megabits(median.Low), megabits(worst.Low), at.Row, megabits(best.Low), bestAt.Row, rest)
	}
	median, worst, of := spread(shares, false)
	rows := ""
	if len(shares) > 1 {
		rows = fmt.Sprintf(" in the median row and %s in the worst of %d rows", wholePercent(worst.Low), len(shares))
	}
	return fmt.Sprintf("%s delivered %s of the link’s measured ceiling%s (%s: %s Mbit/s)%s.",
		name, wholePercent(median.Low), rows, of.Row, megabits(of.Goodput), rest)
}

// total adds up the requests of some figures. Those that the emulated link lost are not in
// Failed.
type total struct{ ok, failed, lost, cut, corrupt int64 }

func totalOf(all []*Figures) (t total) {
	for _, f := range all {
		t.ok, t.failed, t.cut = t.ok+f.OK, t.failed+f.Charged, t.cut+f.Cut
		t.lost += f.Failed - f.Charged
		t.corrupt += int64(f.Failures(records.Corrupt))
	}
	return t
}

// eachTarget says something of each target, in one list.
func (v *View) eachTarget(say func(target string) string) string {
	var texts []string
	for _, name := range v.Targets {
		texts = append(texts, name+" "+say(name))
	}
	return strings.Join(texts, ", ")
}

// failures names each target's share of failed requests. It is empty where none failed.
func (v *View) failures() string {
	if totalOf(All(v.Rows)).failed == 0 {
		return ""
	}
	return "Requests that failed: " + v.eachTarget(func(target string) string {
		t := totalOf(v.of(target))
		if t.failed == 0 {
			return "none"
		}
		wrong := ""
		if t.corrupt > 0 {
			wrong = fmt.Sprintf("; %d brought wrong data", t.corrupt)
		}
		return fmt.Sprintf("%s (%d of %d%s)", percent(float64(t.failed)/float64(t.ok+t.failed)), t.failed, t.ok+t.failed, wrong)
	}) + "."
}

// atCeiling counts the rows in which a link, not a target, decided.
func (v *View) atCeiling() string {
	if !slices.ContainsFunc(All(v.Rows), func(f *Figures) bool { return f.Ceiling > 0 }) {
		return ""
	}
	return fmt.Sprintf("Rows that reached %s of the link’s measured ceiling, so that the link decided: ", wholePercent(nearCeiling)) +
		v.eachTarget(func(target string) string {
			near, all := 0, 0
			for _, f := range v.of(target) {
				if f.Ceiling > 0 {
					all++
				}
				if f.linkFull() {
					near++
				}
			}
			return fmt.Sprintf("in %d of %d", near, all)
		}) + "."
}

// success says how many requests succeeded, and how many were cut.
func (v *View) success() string {
	all := totalOf(All(v.Rows))
	text := fmt.Sprintf("All %d requests that ended succeeded", all.ok)
	switch {
	case all.ok+all.failed == 0:
		text = "No request ended inside its window"
	case all.failed > 0:
		text = "Requests that succeeded: " + v.eachTarget(func(target string) string {
			t := totalOf(v.of(target))
			ended := t.ok + t.failed
			if ended == 0 {
				return "ended none"
			}
			low, high := stats.Wilson(t.ok, ended, 0.95)
			return fmt.Sprintf("%s (%d of %d; 95 %% interval %s to %s)", percent(float64(t.ok)/float64(ended)), t.ok, ended, percent(low), percent(high))
		})
	}
	if all.lost > 0 {
		text += fmt.Sprintf("; %d failed because the emulated link starved them, and count against no server", all.lost)
	}
	return fmt.Sprintf("%s; %d were still running when their window closed (cut).", text, all.cut)
}
