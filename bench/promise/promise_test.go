package promise

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"piecebench/bench/result"
	"piecebench/records"
)

// requests are those of clients that each send one after another in a window of 10 s. Durations
// are exponential with this mean; those that are under way at the end are cut.
func requests(rng *rand.Rand, clients int, mean float64) (all []observation) {
	for range clients {
		for at := 0.0; at < 10; {
			o := observation{value: rng.ExpFloat64() * mean, room: 10 - at}
			at += o.value
			if at > 10 {
				o.value = math.Inf(1)
			}
			all = append(all, o)
		}
	}
	return all
}

// What is promised with 95 % confidence is too much in at most 5 % of all runs, also where the
// window cuts long requests.
func TestAPromiseHoldsAsOftenAsItSays(t *testing.T) {
	const runs, mean = 400, 1.0
	truth := -math.Log(1-Share) * mean
	rng := rand.New(rand.NewPCG(1, 2))
	broken, made := 0, 0
	for range runs {
		if limit, ok := atMost(requests(rng, 30, mean)); ok {
			if made++; limit < truth {
				broken++
			}
		}
	}
	if made < runs*9/10 {
		t.Errorf("%d of %d runs promise anything", made, runs)
	}
	if share := float64(broken) / float64(made); share > 0.08 { // 0.05, and three times its error
		t.Errorf("%.3f of the promises do not hold", share)
	}
}

func TestTooFewRequestsPromiseNoTimes(t *testing.T) {
	of := func(n, failed int) (all []observation) {
		for i := range n {
			o := observation{float64(i+1) / 1000, 100}
			if i < failed {
				o.value = math.Inf(1)
			}
			all = append(all, o)
		}
		return all
	}
	for _, c := range []struct {
		n, failed int
		ok        bool
		more      int64
	}{{58, 0, false, 1}, {59, 0, true, 0}, {1, 0, false, 58}, {59, 1, false, 34}, {100, 20, false, 0}} {
		limit, ok := atMost(of(c.n, c.failed))
		if ok != c.ok || ok && limit != 0.059 {
			t.Errorf("%d, %d failed: %v, %v", c.n, c.failed, limit, ok)
		}
		if more := missing(of(c.n, c.failed)); !ok && c.more > 0 && more != c.more {
			t.Errorf("%d, %d failed: %d more, want %d", c.n, c.failed, more, c.more)
		}
	}
}

// write writes a cell's records: n requests of 1 MB of i ms, and their first byte after a tenth.
func write(t *testing.T, dir string, n, failed int) result.Cell {
	t.Helper()
	path := filepath.Join(dir, "cell.parquet")
	w, err := records.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	const start = 1_000_000_000
	for i := range n {
		r := records.Request{StartUnixNs: start + int64(i), TTFBNs: int64(i+1) * 1e5, DurationNs: int64(i+1) * 1e6, Length: 1e6, Outcome: records.OK}
		if i < failed {
			r.Outcome = records.Status
		}
		w.Add(&r)
	}
	w.Add(&records.Request{StartUnixNs: start - 1, DurationNs: 1e12, Length: 1e6, Outcome: records.OK}) // of the warm-up
	if err := w.Close(records.Window{StartNs: start, EndNs: start + 10e9}); err != nil {
		t.Fatal(err)
	}
	return result.Cell{Target: "mine", Link: "none", Mode: "1MB", Concurrency: 1, RequestsOK: int64(n - failed), Failed: map[records.Outcome]int{records.Status: failed}, Records: "cell.parquet"}
}

func TestPromisesOfARun(t *testing.T) {
	dir := t.TempDir()
	run := &result.Run{ID: "run", Cells: []result.Cell{write(t, dir, 1000, 3)}}
	all, err := Of(dir, run)
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	p := all[0]
	// 997 of 1000: 0.99225 by Clopper and Pearson. The p95 is 950 ms of those that came; 962 of
	// 1000 are the least of which the bound is 95 %, and three failed.
	if p.BasisPoints != 9922 || p.BytesPerSecond == nil || math.Abs(*p.BytesPerSecond-1e6/0.965) > 5000 || p.FirstByteMs == nil || math.Abs(*p.FirstByteMs-96.5) > 0.5 {
		t.Errorf("%+v, %v bytes/s, %v ms", p, *p.BytesPerSecond, *p.FirstByteMs)
	}
	if !p.Dealbot.Passes || len(p.More) != 1 || p.More[0].For != "retrievability 99.9 %" {
		t.Errorf("%+v, %+v", p.Dealbot, p.More)
	}
	var text, encoded bytes.Buffer
	if err := Write(&text, run, all); err != nil || !strings.Contains(text.String(), ">= 99.22 %") || !strings.Contains(text.String(), "to promise more") {
		t.Errorf("%v\n%s", err, &text)
	}
	var back struct{ Promises []map[string]any }
	if err := WriteJSON(&encoded, run, all); err != nil || json.Unmarshal(encoded.Bytes(), &back) != nil || back.Promises[0]["retrievability_basis_points"] != 9922.0 {
		t.Errorf("%v\n%s", err, &encoded)
	}
}

func TestARunWithoutRecordsPromisesRetrievabilityOnly(t *testing.T) {
	run := &result.Run{Cells: []result.Cell{{Target: "mine", RequestsOK: 150, Records: "gone.parquet"}}}
	all, err := Of(t.TempDir(), run)
	if err != nil || all[0].BasisPoints != 9802 || all[0].BytesPerSecond != nil || all[0].Dealbot.Passes || all[0].Dealbot.More != 50 {
		t.Errorf("%+v, %v", all, err)
	}
	var text bytes.Buffer
	if err := Write(&text, run, all); err != nil || !strings.Contains(text.String(), "no records") || !strings.Contains(text.String(), "50 more") {
		t.Errorf("%v\n%s", err, &text)
	}
}
