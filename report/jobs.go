package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"piecebench/bench/compare"
	"piecebench/bench/result"
	"piecebench/bench/stats"
)

// Jobs are what a target's jobs show in one row, all repetitions together.
type Jobs struct {
	OK, Failed, Cut int64
	Requests        float64             // of a job
	Time            result.JobQuantiles // of the middle repetition
	Warmup          bool                // some include jobs of the warm-up
	Stages          []result.Stage      // means of the repetitions
	Overlap, Other  float64             // the same
}

// combineJobs puts the jobs of repetitions together; nil if there are none.
func combineJobs(cells []result.Cell) *Jobs {
	var all []result.Jobs
	for _, c := range cells {
		if c.Jobs != nil {
			all = append(all, *c.Jobs)
		}
	}
	if all == nil {
		return nil
	}
	var j Jobs
	n := float64(len(all))
	for _, one := range all {
		j.OK, j.Failed, j.Cut = j.OK+one.OK, j.Failed+one.Failed, j.Cut+one.Cut
		j.Requests += one.Requests / n
		j.Overlap, j.Other = j.Overlap+one.Overlap/n, j.Other+one.Other/n
		j.Warmup = j.Warmup || one.Warmup
		for _, s := range one.Stages {
			i := slices.IndexFunc(j.Stages, func(known result.Stage) bool { return known.Name == s.Name })
			if i < 0 {
				i = len(j.Stages)
				j.Stages = append(j.Stages, result.Stage{Name: s.Name})
			}
			j.Stages[i].Share += s.Share / n
			j.Stages[i].MeanMs += s.MeanMs / n
		}
	}
	pick := func(of func(result.JobQuantiles) *result.Quantile) *result.Quantile {
		var quantiles []*result.Quantile
		for _, one := range all {
			quantiles = append(quantiles, of(one.Duration))
		}
		return middle(quantiles)
	}
	j.Time = result.JobQuantiles{
		P50:  pick(func(q result.JobQuantiles) *result.Quantile { return q.P50 }),
		P90:  pick(func(q result.JobQuantiles) *result.Quantile { return q.P90 }),
		P99:  pick(func(q result.JobQuantiles) *result.Quantile { return q.P99 }),
		P100: pick(func(q result.JobQuantiles) *result.Quantile { return q.P100 }),
	}
	return &j
}

// Each returns the quantiles in their order.
func (j *Jobs) Each() []*result.Quantile {
	return []*result.Quantile{j.Time.P50, j.Time.P90, j.Time.P99, j.Time.P100}
}

// counts writes how many jobs ended how.
func (j *Jobs) counts() string { return fmt.Sprintf("%d ok, %d failed, %d cut", j.OK, j.Failed, j.Cut) }

// shares writes what share of the time of jobs each stage took.
func (j *Jobs) shares() string {
	var parts []string
	for _, s := range j.Stages {
		parts = append(parts, s.Name+" "+wholePercent(s.Share))
	}
	parts = append(parts, "other "+wholePercent(j.Other))
	text := strings.Join(parts, ", ")
	if j.Overlap > 0 {
		text += "; overlap " + wholePercent(j.Overlap)
	}
	return text
}

// JobTable shows the jobs of some rows, a line for each target. It is empty where there are
// none.
func (v *View) JobTable(rows []*Row) (t Table) {
	t.Groups = 2
	for _, f := range All(rows) {
		if f.Jobs == nil {
			continue
		}
		cells := []string{f.Row.Mode, strconv.Itoa(f.Row.Concurrency), f.Target,
			strconv.FormatInt(f.Jobs.OK, 10), strconv.FormatInt(f.Jobs.Failed, 10), strconv.FormatInt(f.Jobs.Cut, 10)}
		for _, q := range f.Jobs.Each() {
			cells = append(cells, Quantile(q, f.Jobs.Warmup))
		}
		t.Add(append(cells, threeDigits(f.Jobs.Requests), f.Jobs.shares())...)
	}
	if t.Lines != nil {
		t.Head = []Column{Left("mode"), Right("clients"), Left("target"), Right("ok"), Right("failed"), Right("cut"),
			Right("job time p50"), Right("p90"), Right("p99"), Right("longest"), Right("requests a job"), Left("shares of the time")}
	}
	return t
}

// compareJobs says how a target's job times compare with the baseline's.
func (v *View) compareJobs(target string) string {
	base := v.Targets[0]
	var all []compared
	machine := 0
	for _, f := range v.of(target) {
		e := f.Compared()
		switch {
		case !e.Judged():
			machine++
		case e.Known:
			all = append(all, compared{f, rangeOf(e)})
		}
	}
	switch {
	case len(all) == 0 && machine > 0:
		return fmt.Sprintf("This machine limited %s of %s and %s, so their job times do not show how the two differ.", everyRow(machine), target, base)
	case len(all) == 0:
		return fmt.Sprintf("%s and %s have no row in common in which a job ended, so there is no comparison.", target, base)
	}
	median, worst, of := spread(all, true)
	figures := fmt.Sprintf("(%s: %s against %s)%s.", of.Row, Quantile(of.Jobs.Time.P50, false), Quantile(of.Base.Jobs.Time.P50, false), leftOut(machine, byLate))
	if len(all) == 1 {
		return fmt.Sprintf("%s’s median job took %s times as long as %s’s in the one row that shows it %s", target, ranged(median), base, figures)
	}
	return fmt.Sprintf("%s’s median job took %s times as long as %s’s in the median row and %s times in the worst of %d rows %s",
		target, ranged(median), base, ranged(worst), len(all), figures)
}

// rangeOf is the ratio of an estimate, or a bound of it.
func rangeOf(e compare.Estimate) stats.Range {
	switch {
	case e.AtLeast:
		return stats.AtLeast(1 + e.Change)
	case e.AtMost:
		return stats.Range{High: 1 + e.Change}
	}
	return stats.Exactly(1 + e.Change)
}

// describeJobs says how long the jobs of the only target took.
func (v *View) describeJobs() string {
	var all []compared
	for _, f := range v.of(v.Targets[0]) {
		if f.Jobs == nil || f.Jobs.Time.P50 == nil {
			continue
		}
		q := f.Jobs.Time.P50
		c := compared{f, stats.Exactly(q.Ms)}
		if q.Bound {
			c.value = stats.AtLeast(q.Ms)
		}
		all = append(all, c)
	}
	if all == nil {
		return "No job of " + v.Targets[0] + " ended."
	}
	_, _, of := spread(all, true)
	_, _, least := spread(all, false)
	if len(all) == 1 {
		return fmt.Sprintf("%s’s median job took %s (%s).", v.Targets[0], Quantile(of.Jobs.Time.P50, false), of.Row)
	}
	return fmt.Sprintf("%s’s median job took from %s (%s) to %s (%s).", v.Targets[0],
		Quantile(least.Jobs.Time.P50, false), least.Row, Quantile(of.Jobs.Time.P50, false), of.Row)
}

// jobTotal adds up the jobs of some figures.
func jobTotal(all []*Figures) (ok, failed, cut int64) {
	for _, f := range all {
		if f.Jobs != nil {
			ok, failed, cut = ok+f.Jobs.OK, failed+f.Jobs.Failed, cut+f.Jobs.Cut
		}
	}
	return ok, failed, cut
}

// jobSuccess says how many jobs succeeded; empty where there are none.
func (v *View) jobSuccess() string {
	if !v.Run.HasJobs() {
		return ""
	}
	ok, failed, cut := jobTotal(All(v.Rows))
	text := fmt.Sprintf("All %d jobs that ended succeeded", ok)
	switch {
	case ok+failed == 0:
		text = "No job ended inside its window"
	case failed > 0:
		text = "Jobs that succeeded: " + v.eachTarget(func(target string) string {
			ok, failed, _ := jobTotal(v.of(target))
			if ok+failed == 0 {
				return "ended none"
			}
			return fmt.Sprintf("%s (%d of %d)", percent(float64(ok)/float64(ok+failed)), ok, ok+failed)
		})
	}
	return fmt.Sprintf("%s; %d were still running when their window closed (cut).", text, cut)
}
