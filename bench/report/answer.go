package report

import (
	"cmp"
	"fmt"
	"slices"

	"piecebench/bench/stats"
)

// nearCeiling is the share of a link's ceiling from which two targets cannot
// be told apart by goodput: the link decides.
const nearCeiling = 0.9

// answer is what a reader who reads no further should know: a headline with
// its figures, and sentences that qualify it.
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
	return headline, append(more, v.success())
}

// place names a row: "1MiB, 1000 clients, 10gbit/40ms".
func (r row) place() string { return r.mode + ", " + clients(r.concurrency) + ", " + linkName(r.link) }

// compared is a row with the ratio of two targets in it.
type compared struct {
	row
	ratio float64
}

// spread returns the median ratio and the row with the least one (or the
// greatest, where more is worse).
func spread(all []compared, moreIsWorse bool) (median float64, worst compared) {
	ratios := make([]float64, len(all))
	for i, c := range all {
		ratios[i] = c.ratio
	}
	median, _ = stats.Median(ratios)
	byRatio := func(a, b compared) int { return cmp.Compare(a.ratio, b.ratio) }
	if moreIsWorse {
		return median, slices.MaxFunc(all, byRatio)
	}
	return median, slices.MinFunc(all, byRatio)
}

func (v *view) compareGoodput(t int) string {
	name, base := v.targets[t], v.targets[0]
	var all []compared
	for _, r := range v.rows() {
		if ratio, ok := r.ratio(t); ok {
			all = append(all, compared{r, ratio})
		}
	}
	if len(all) == 0 {
		return fmt.Sprintf("%s and %s have no cell in common that delivered anything, so there is no comparison.", name, base)
	}
	median, worst := spread(all, false)
	figures := fmt.Sprintf("%s: %s against %s Mbit/s", worst.place(),
		megabits(worst.figures[t].goodput), megabits(worst.figures[0].goodput))
	if len(all) == 1 {
		return fmt.Sprintf("%s delivered %s of %s’s goodput in the one cell that has both (%s).", name, wholePercent(median), base, figures)
	}
	return fmt.Sprintf("%s delivered %s of %s’s goodput in the median cell and %s in the worst of %d (%s).",
		name, wholePercent(median), base, wholePercent(worst.ratio), len(all), figures)
}

func (v *view) compareTTFB(t int) string {
	var all []compared
	for _, r := range v.rows() {
		if ratio, _, ok := r.ttfbRatio(t); ok {
			all = append(all, compared{r, ratio})
		}
	}
	if len(all) < 2 {
		return ""
	}
	median, worst := spread(all, true)
	return fmt.Sprintf("%s’s TTFB (95th percentile) was %s times that of %s in the median cell and %s times in the worst (%s: %s against %s).",
		v.targets[t], threeDigits(median), v.targets[0], threeDigits(worst.ratio), worst.place(),
		quantile(worst.figures[t].ttfb.P95, false), quantile(worst.figures[0].ttfb.P95, false))
}

func (v *view) describeOne() string {
	name := v.targets[0]
	var shares, rates []compared
	for _, r := range v.rows() {
		f := r.figures[0]
		rates = append(rates, compared{r, f.goodput})
		if share, ok := f.share(); ok {
			shares = append(shares, compared{r, share})
		}
	}
	if len(shares) == len(rates) {
		median, worst := spread(shares, false)
		if len(shares) == 1 {
			return fmt.Sprintf("%s delivered %s of the link’s measured ceiling (%s: %s Mbit/s).",
				name, wholePercent(median), worst.place(), megabits(worst.figures[0].goodput))
		}
		return fmt.Sprintf("%s delivered %s of the link’s measured ceiling in the median cell and %s in the worst (%s: %s Mbit/s).",
			name, wholePercent(median), wholePercent(worst.ratio), worst.place(), megabits(worst.figures[0].goodput))
	}
	median, worst := spread(rates, false)
	_, best := spread(rates, true)
	return fmt.Sprintf("%s delivered %s Mbit/s in the median cell, from %s (%s) to %s (%s).",
		name, megabits(median), megabits(worst.ratio), worst.place(), megabits(best.ratio), best.place())
}

// atCeiling counts the cells in which a link, not a target, decided.
func (v *view) atCeiling() string {
	text, known := "", false
	for t, name := range v.targets {
		near, all := 0, 0
		for _, r := range v.rows() {
			if f := r.figures[t]; f != nil {
				if share, ok := f.share(); ok {
					all++
					if share >= nearCeiling {
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
	return fmt.Sprintf("Cells that reached %s of the link’s measured ceiling, so that the link decided: %s.", wholePercent(nearCeiling), text)
}

// success tells of the requests that ended, and of the cut ones.
func (v *view) success() string {
	text := ""
	var cut, ended int64
	clean := true
	for t, name := range v.targets {
		var ok, failed int64
		for _, r := range v.rows() {
			if f := r.figures[t]; f != nil {
				ok, failed, cut = ok+f.ok, failed+f.failed, cut+f.cut
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
	return fmt.Sprintf("%s; %d were still running when their window closed (cut).", text, cut)
}
