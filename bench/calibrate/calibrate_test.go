package calibrate

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"piecebench/bench/result"
	"piecebench/netem/client"
	"piecebench/netem/link"
)

// ofCapacities returns a measurement that has these results, one after the other.
func ofCapacities(capacities ...int64) func() (result.StreamsCapacity, error) {
	return func() (m result.StreamsCapacity, err error) {
		m.GoodputBits, capacities = capacities[0], capacities[1:]
		return m, nil
	}
}

func TestACapacityThatIsOffIsMeasuredAgainAndTheNearestCounts(t *testing.T) {
	calibration, spec := measured(1, 20, 0)
	unshaped := calibration.Unshaped[0]
	percent := func(n int64) int64 { return calibration.ExpectedBits * n / 100 }
	for _, c := range []struct {
		name     string
		measured []int64 // percent of what the link allows
		want     int64
		refused  bool
	}{
		{"as asked at once", []int64{99}, 99, false},
		{"too fast once", []int64{104, 100}, 100, false},
		{"too slow once", []int64{90, 99}, 99, false},
		{"too slow, then too fast, then as asked", []int64{90, 104, 100}, 100, false},
		{"never as asked", []int64{90, 104, 95}, 104, true},
		{"no limit in force", []int64{300, 250, 400}, 250, true},
	} {
		var all []int64
		for _, n := range c.measured {
			all = append(all, percent(n))
		}
		got, err := nearest(calibration.ExpectedBits, ofCapacities(all...),
			func(m result.StreamsCapacity) bool { return asAsked(m, unshaped, calibration, spec) })
		if err != nil || got.GoodputBits != percent(c.want) {
			t.Errorf("%s: %d, %v; want %d", c.name, got.GoodputBits, err, percent(c.want))
		}
		calibration.Through[0].GoodputBits = got.GoodputBits
		if err := judge(calibration, spec, client.Stats{}); (err != nil) != c.refused {
			t.Errorf("%s: judged %v", c.name, err)
		}
	}
}

// withoutLimit is the path through an agent that shapes nothing.
func withoutLimit(t *testing.T) Path {
	t.Helper()
	for _, p := range []*phases{&unshaped, &through} {
		was := *p
		t.Cleanup(func() { *p = was })
		*p = phases{50 * time.Millisecond, 200 * time.Millisecond}
	}
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(client.State{})
	}))
	t.Cleanup(agent.Close)
	c, err := client.New(agent.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	url, _ := pacedServer(t, 20*limitBits)
	return Path{Agent: c, Shaped: url}
}

// limitBits is a limit that is not in force, in bits per second.
const limitBits = 100_000

func TestALimitThatIsNotInForceIsSeen(t *testing.T) {
	path := withoutLimit(t)
	spec := link.Spec{RateBits: limitBits}
	refused := func(err error) bool {
		refusal := (*Refusal)(nil)
		return errors.As(err, &refusal) && strings.Contains(refusal.Reason, "not in force")
	}
	silent := func(string) {}
	if _, err := Link(context.Background(), path, spec, silent); !refused(err) {
		t.Errorf("Link: %v", err)
	}
	before := result.Calibration{Link: spec.String(), AskedRateBits: limitBits, ExpectedBits: limitBits, CeilingBits: limitBits,
		Through: []result.StreamsCapacity{{Streams: 8, GoodputBits: limitBits}}, Unshaped: []result.StreamsCapacity{{Streams: 8, GoodputBits: 1e9}}}
	if _, err := Check(context.Background(), path, spec, before, silent); !refused(err) {
		t.Errorf("Check: %v", err)
	}
	after, err := Again(context.Background(), path, spec, before, silent)
	if drift, _ := result.Drift(limitBits, after); err != nil || drift <= result.DriftTolerance {
		t.Errorf("Again: %d bit/s, %v", after, err)
	}
}
