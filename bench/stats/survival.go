// Package stats holds the estimators that results are computed with.
package stats

import (
	"cmp"
	"iter"
	"slices"
)

// Survival estimates the distribution of a duration from observations, some of them
// right-censored: not ended, or given up, at that age. Without those, or with them counted as
// ended, a slow server would look fast. The estimator is Kaplan and Meier's product limit (J. Am.
// Stat. Assoc. 53, 1958). It assumes that censoring is independent of the duration. An
// observation takes 16 bytes.
//
// The caller chooses the unit. The zero value is ready for use.
type Survival struct {
	obs    []observation
	sorted bool
}

type observation struct {
	age      float64
	censored bool
}

// Ended adds a duration that ended.
func (s *Survival) Ended(age float64) { s.add(age, false) }

// Censored adds a duration that is longer than age.
func (s *Survival) Censored(age float64) { s.add(age, true) }

func (s *Survival) add(age float64, censored bool) {
	s.obs = append(s.obs, observation{age, censored})
	s.sorted = false
}

// Merge adds the observations of other.
func (s *Survival) Merge(other *Survival) {
	s.obs = append(s.obs, other.obs...)
	s.sorted = false
}

// rankSlack absorbs rounding where the estimate should equal p, such as 90 of 100 for p = 0.9.
// It is less than one rank below a billion observations.
const rankSlack = 1e-9

// Reaches tells whether a share of Steps is at least p, with the rounding of Quantile.
func Reaches(share, p float64) bool { return share >= p-rankSlack }

// Quantile returns the smallest age by which at least a share p (0 to 1) has ended: for 0 the
// smallest that ended, for 1 the greatest. Where too many are censored, it returns the greatest
// age and bound = true: the quantile is above it. ok is false without observations.
//
// An observation censored at the age at which another ended counts as longer. Without censoring
// the result is the ceil(p*n)-th smallest value, never an interpolated one (type 1 of Hyndman and
// Fan, Am. Stat. 50, 1996).
func (s *Survival) Quantile(p float64) (age float64, bound, ok bool) {
	if len(s.obs) == 0 {
		return 0, false, false
	}
	for age, share := range s.Steps() {
		if Reaches(share, p) {
			return age, false, true
		}
	}
	return s.obs[len(s.obs)-1].age, true, true
}

// Mean returns the mean of a monotonic function of the age. Without censoring it is the
// arithmetic mean. Where the greatest ages are censored, their share counts as ended at the
// greatest age, and bound is true: the mean is a lower bound for a growing function, an upper
// bound for a falling one. ok is false without observations.
func (s *Survival) Mean(of func(age float64) float64) (mean float64, bound, ok bool) {
	if len(s.obs) == 0 {
		return 0, false, false
	}
	before := 0.0
	for age, share := range s.Steps() {
		mean += (share - before) * of(age)
		before = share
	}
	if rest := 1 - before; rest > rankSlack {
		return mean + rest*of(s.obs[len(s.obs)-1].age), true, true
	}
	return mean, false, true
}

// Steps yields the estimated distribution function: each age at which something ended, in
// ascending order, with the share (0 to 1) that has ended by then. Where the greatest ages are
// censored, the last share is below 1.
func (s *Survival) Steps() iter.Seq2[float64, float64] {
	s.sort()
	return func(yield func(age, share float64) bool) {
		n := len(s.obs)
		// Between two censored observations the product is a ratio of two counts, so
		// rounding errors grow only with the censored ones.
		surviving, atRiskThen := 1.0, n
		for i := 0; i < n; {
			if s.obs[i].censored {
				surviving *= float64(n-i) / float64(atRiskThen)
				atRiskThen = n - i - 1
				i++
				continue
			}
			at := s.obs[i].age
			for i < n && !s.obs[i].censored && s.obs[i].age == at {
				i++
			}
			if !yield(at, 1-surviving*float64(n-i)/float64(atRiskThen)) {
				return
			}
		}
	}
}

func (s *Survival) sort() {
	if s.sorted {
		return
	}
	slices.SortFunc(s.obs, func(a, b observation) int {
		if c := cmp.Compare(a.age, b.age); c != 0 {
			return c
		}
		switch {
		case a.censored == b.censored:
			return 0
		case b.censored:
			return -1
		}
		return 1
	})
	s.sorted = true
}
