// Package stats holds the estimators that results are computed with.
package stats

import (
	"cmp"
	"iter"
	"slices"
)

// Survival estimates the distribution of a duration from observations of
// which some are right-censored: the thing was still going on, or was given
// up, at that age. Leaving those out, or counting them as ended, would make a
// slow server look fast. The estimator is Kaplan and Meier's product limit
// (J. Am. Stat. Assoc. 53, 1958). It takes 16 bytes an observation.
//
// The unit is the caller's. The zero value is ready for use.
type Survival struct {
	obs    []observation
	sorted bool
}

type observation struct {
	age      float64
	censored bool
}

// Ended adds a duration that was seen to its end.
func (s *Survival) Ended(age float64) { s.add(age, false) }

// Censored adds a duration that was only seen up to age: it ends later.
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

// rankSlack absorbs rounding where the estimate should equal p exactly, such
// as 90 of 100 for p = 0.9. It is less than one rank below a billion observations.
const rankSlack = 1e-9

// Reaches tells whether a share of Steps is at least p, as Quantile takes it.
func Reaches(share, p float64) bool { return share >= p-rankSlack }

// Quantile returns the smallest age by which at least a share p (0 to 1) has
// ended: with 0 the smallest that was seen to end, with 1 the greatest. Where
// too much is censored for that to be known, it returns the greatest age seen
// and bound = true: the quantile lies above it. ok is false when there are no
// observations.
//
// An observation censored at the age at which another ended is taken to be
// longer. Without censoring the result is the inverse of the empirical
// distribution function: the ceil(p*n)-th smallest value, never an
// interpolated one (type 1 of Hyndman and Fan, Am. Stat. 50, 1996).
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

// Mean returns the mean of a function of the age, which must be monotonic.
// Where the greatest ages are censored, it takes the share that they stand for
// to have ended at the greatest, and bound is true: the mean is a lower bound
// of a growing function, an upper one of a falling one. ok is false when there
// are no observations. Without censoring it is the arithmetic mean.
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

// Steps yields each age at which something ended, ascending, with the
// estimated share (0 to 1) that has ended by then: the estimated distribution
// function. Where the greatest ages are censored its last share is below 1.
func (s *Survival) Steps() iter.Seq2[float64, float64] {
	s.sort()
	return func(yield func(age, share float64) bool) {
		n := len(s.obs)
		// Between two censored observations the product telescopes to a ratio of
		// two counts, so rounding grows with the censored ones only.
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
