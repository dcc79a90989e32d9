package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"piecebench/bench/stats"
)

// nearCeiling is the share of a link's ceiling from which two targets cannot
// be told apart by goodput: the link decides.
const nearCeiling = 0.9

// answer is what a reader who reads no further should know: a headline with
// its figures, and sentences that qualify it. Requests that failed come before any
// ratio.
func (v *view) answer() (headline string, more []string) {
	if len(v.targets) == 0 {
		return "No cell was measured.", nil
	}
	for t := 1; t < len(v.targets); t++ {
		s := v.compareGoodput(t)
		if headline == "" {
			headline = s
		} else {
			more = append(more, s)
		}
		if s := v.compareTTFB(t); s != "" {
			more = append(more, s)
		}
	}
	if len(v.targets) == 1 {
		headline = v.describeOne()
	} else if s := v.atCeiling(); s != "" {
		more = append(more, s)
	}
	if s := v.failures(); s != "" {
		headline = s + " " + headline
	}
	return headline, append(more, v.success())
}

// place names a row: "1MiB, 1000 clients, 10gbit/40ms".
func (r row) place() string { return r.mode + ", " + clients(r.concurrency) + ", " + linkName(r.link) }

// compared is a row with the ratio of two targets in it.
type compared struct {
	row
	ratio stats.Range
}

// spread returns the median ratio, and the worst with the row that shows it: the
// least, or the greatest where more is worse.
func spread(all []compared, moreIsWorse bool) (median, worst stats.Range, of row) {
	ratios := make([]stats.Range, len(all))
	for i, c := range all {
		ratios[i] = c.ratio
	}
	median, _ = stats.Median(ratios)
	byRatio := func(a, b compared) int { return cmp.Compare(a.ratio.Low, b.ratio.Low) }
	if !moreIsWorse {
		least := slices.MinFunc(all, byRatio)
		return median, least.ratio, least.row
	}
	worst, _ = stats.Greatest(ratios)
	return median, worst, slices.MaxFunc(all, byRatio).row
}

// ranged writes what is known of a value, after words for a bound: "4.34",
// "at least 4.34", "between 1.00 and 2.00".
func ranged(r stats.Range, write func(float64) string) string {
	switch {
	case r.Known():
		return write(r.Low)
	case math.IsInf(r.High, 1):
		return "at least " + write(r.Low)
	case r.Low <= 0:
		return "at most " + write(r.High)
	}
	return "between " + write(r.Low) + " and " + write(r.High)
}

// leftOut counts rows that show nothing of the servers, after a semicolon.
func leftOut(n int, why string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "; 1 row that " + why + " is left out"
	}
	return fmt.Sprintf("; %d rows that %s are left out", n, why)
}

const (
	byMachine = "this machine limited"
	byLate    = "this machine limited, or in which the emulated delay was late,"
)

func (v *view) compareGoodput(t int) string {
	name, base := v.targets[t], v.targets[0]
	var all []compared
	machine := 0
	var nothing []string // rows in which only the baseline delivered nothing
	for _, r := range v.rows() {
		e := r.compare(t)
		switch {
		case !e.Judged():
			machine++
		case e.Known:
			all = append(all, compared{r, stats.Exactly(1 + e.Change)})
		case r.figures[t] != nil && r.figures[0] != nil && r.figures[t].goodput > 0:
			nothing = append(nothing, r.place())
		}
	}
	dead := ""
	if nothing != nil {
		dead = fmt.Sprintf(" %s delivered nothing in %s in which %s did, such as %s.", base, count(len(nothing), "row"), name, nothing[0])
	}
	if len(all) == 0 {
		if machine > 0 {
			return fmt.Sprintf("This machine limited %s of %s and %s, which therefore say nothing of how the two differ.", everyRow(machine), name, base) + dead
		}
		return fmt.Sprintf("%s and %s have no row in common that delivered anything, so there is no comparison.", name, base) + dead
	}
	median, worst, of := spread(all, false)
	figures := fmt.Sprintf("%s: %s against %s Mbit/s", of.place(),
		megabits(of.figures[t].goodput), megabits(of.figures[0].goodput))
	if len(all) == 1 {
		return fmt.Sprintf("%s delivered %s of %s’s goodput in the one row that shows it (%s)%s.", name, wholePercent(median.Low), base, figures, leftOut(machine, byMachine)) + dead
	}
	return fmt.Sprintf("%s delivered %s of %s’s goodput in the median row and %s in the worst of %d (%s)%s.",
		name, wholePercent(median.Low), base, wholePercent(worst.Low), len(all), figures, leftOut(machine, byMachine)) + dead
}

func everyRow(n int) string {
	if n == 1 {
		return "the one row"
	}
	return fmt.Sprintf("all %d rows", n)
}

func (v *view) compareTTFB(t int) string {
	name, base := v.targets[t], v.targets[0]
	var all []compared
	machine := 0
	for _, r := range v.rows() {
		ratio, ok := r.ttfbRatio(t)
		switch {
		case !ok:
		case !r.timesJudged(t):
			machine++
		default:
			all = append(all, compared{r, ratio})
		}
	}
	switch {
	case len(all) == 0 && machine > 0:
		return fmt.Sprintf("TTFB is not compared: this machine limited %s of %s and %s, or the emulated delay was late there.", everyRow(machine), name, base)
	case len(all) < 2:
		return ""
	}
	median, worst, of := spread(all, true)
	return fmt.Sprintf("%s’s TTFB (95th percentile) was %s times that of %s in the median row and %s times in the worst of %d (%s: %s against %s)%s.",
		name, ranged(median, threeDigits), base, ranged(worst, threeDigits), len(all), of.place(),
		quantile(of.figures[t].ttfb.P95, false), quantile(of.figures[0].ttfb.P95, false), leftOut(machine, byLate))
}

func (v *view) describeOne() string {
	name := v.targets[0]
	var judged, machine []row
	for _, r := range v.rows() {
		if r.figures[0].machine() {
			machine = append(machine, r)
		} else {
			judged = append(judged, r)
		}
	}
	rest := leftOut(len(machine), byMachine)
	if judged == nil {
		judged, rest = machine, fmt.Sprintf("; this machine limited %s, so it is what the machine does, more than %s", everyRow(len(machine)), name)
	}
	var shares, rates []compared
	for _, r := range judged {
		f := r.figures[0]
		rates = append(rates, compared{r, stats.Exactly(f.goodput)})
		if share, ok := f.share(); ok {
			shares = append(shares, compared{r, stats.Exactly(share)})
		}
	}
	if len(shares) == len(rates) {
		median, worst, of := spread(shares, false)
		if len(shares) == 1 {
			return fmt.Sprintf("%s delivered %s of the link’s measured ceiling (%s: %s Mbit/s)%s.",
				name, wholePercent(median.Low), of.place(), megabits(of.figures[0].goodput), rest)
		}
		return fmt.Sprintf("%s delivered %s of the link’s measured ceiling in the median row and %s in the worst (%s: %s Mbit/s)%s.",
			name, wholePercent(median.Low), wholePercent(worst.Low), of.place(), megabits(of.figures[0].goodput), rest)
	}
	median, worst, at := spread(rates, false)
	_, best, bestAt := spread(rates, true)
	return fmt.Sprintf("%s delivered %s Mbit/s in the median row, from %s (%s) to %s (%s)%s.",
		name, megabits(median.Low), megabits(worst.Low), at.place(), megabits(best.Low), bestAt.place(), rest)
}

// failures names each target's share of failed requests; empty where none failed.
func (v *view) failures() string {
	text, any := "", false
	for t, name := range v.targets {
		var ended, failed int64
		corrupt := 0
		for _, r := range v.rows() {
			if f := r.figures[t]; f != nil {
				ended, failed, corrupt = ended+f.ok+f.charged, failed+f.charged, corrupt+f.corrupt()
			}
		}
		if text != "" {
			text += ", "
		}
		if failed == 0 {
			text += name + " none"
			continue
		}
		any = true
		text += fmt.Sprintf("%s %s (%d of %d", name, percent(float64(failed)/float64(ended)), failed, ended)
		if corrupt > 0 {
			text += fmt.Sprintf("; %d brought wrong data", corrupt)
		}
		text += ")"
	}
	if !any {
		return ""
	}
	return "Requests that failed: " + text + "."
}

// atCeiling counts the rows in which a link, not a target, decided.
func (v *view) atCeiling() string {
	text, known := "", false
	for t, name := range v.targets {
		near, all := 0, 0
		for _, r := range v.rows() {
			if f := r.figures[t]; f != nil {
				if f.ceiling > 0 {
					all++
					if f.linkFull() {
						near++
					}
				}
			}
		}
		known = known || all > 0
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%s in %d of %d", name, near, all)
	}
	if !known {
		return ""
	}
	return fmt.Sprintf("Rows that reached %s of the link’s measured ceiling, so that the link decided: %s.", wholePercent(nearCeiling), text)
}

// success tells of the requests that ended, and of the cut ones.
func (v *view) success() string {
	text := ""
	var cut, ended, lost int64
	clean := true
	for t, name := range v.targets {
		var ok, failed int64
		for _, r := range v.rows() {
			if f := r.figures[t]; f != nil {
				ok, failed, cut = ok+f.ok, failed+f.charged, cut+f.cut
				lost += f.failed - f.charged
			}
		}
		ended += ok + failed
		clean = clean && failed == 0
		if text != "" {
			text += ", "
		}
		if ok+failed == 0 {
			text += name + " ended none"
			continue
		}
		low, high := stats.Wilson(ok, ok+failed, 0.95)
		text += fmt.Sprintf("%s %s (%d of %d; 95 %% interval %s to %s)", name, percent(float64(ok)/float64(ok+failed)),
			ok, ok+failed, percent(low), percent(high))
	}
	switch {
	case ended == 0:
		text = "No request ended inside its window"
	case clean:
		text = fmt.Sprintf("All %d requests that ended succeeded", ended)
	default:
		text = "Requests that succeeded: " + text
	}
	if lost > 0 {
		text += fmt.Sprintf("; %d failed where the emulated link let them starve, and are charged to no server", lost)
	}
	return fmt.Sprintf("%s; %d were still running when their window closed (cut).", text, cut)
}
