package detail

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piecebench/bench/result"
	"piecebench/bench/stats"
	"piecebench/records"
)

// recordedRun is a real run with the records of one of its cells.
const recordedRun = "../result/testdata/identical-1gbit"

// at is what a distribution shows of a quantile.
func (d Distribution) at(p float64) (ms float64, bound bool) {
	for _, s := range d.Steps {
		if stats.Reaches(s.Share, p) {
			return s.Ms, false
		}
	}
	return d.EndMs, true
}

// The curve and the quantiles are of the same requests, by the same estimate.
func TestADistributionShowsTheCellsOwnQuantiles(t *testing.T) {
	run, err := result.Load(recordedRun)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, c := range run.Cells {
		r := Read(recordedRun, [][]result.Cell{{c}})[0]
		if r.Absent == 1 {
			if diff := cmp.Diff(Detail{}, r.Pooled); diff != "" {
				t.Errorf("without records: %s", diff)
			}
			continue
		}
		seen++
		for _, of := range []struct {
			d Distribution
			q result.Quantiles
		}{{r.Pooled.TTFB, c.TTFB}, {r.Pooled.Duration, c.Duration}} {
			for p, want := range map[float64]*result.Quantile{0.5: of.q.P50, 0.95: of.q.P95, 0.99: of.q.P99} {
				if ms, bound := of.d.at(p); ms != want.Ms || bound != want.Bound {
					t.Errorf("p%v is %v (bound %v), want %+v", 100*p, ms, bound, *want)
				}
			}
			if n := len(of.d.Steps); n < 10 || n > 120 {
				t.Errorf("%d steps", n)
			}
		}
		p := r.Pooled.Phases
		if p.Requests == 0 || p.Requests > c.RequestsOK || p.Waiting < 40 || p.Receiving <= 0 || p.TLS != 0 {
			t.Errorf("phases %+v of a link with 80 ms", p)
		}
	}
	if seen != 1 {
		t.Errorf("%d cells have records, want 1", seen)
	}
}

// write writes a cell's records: n requests of ms(i), each a hundredth of it
// connecting; from the cut-th on they are cut.
func write(t *testing.T, dir, name string, n, cut int, ms func(i int) float64) result.Cell {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "requests"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := result.Cell{Concurrency: 1, Records: "requests/" + name}
	w, err := records.Create(filepath.Join(dir, c.Records))
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		ns := int64(ms(i) * 1e6)
		r := records.Request{StartUnixNs: 1, ConnectNs: ns / 100, TTFBNs: ns / 10, DurationNs: ns, Outcome: records.OK}
		if i >= cut {
			r.Outcome = records.Cut
		}
		w.Add(&r)
	}
	if err := w.Close(records.Window{StartNs: 1, EndNs: math.MaxInt64 / 2}); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestThinningKeepsTheQuantiles(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 20_000
	var exact stats.Survival
	// Two modes and a long tail.
	c := write(t, dir, "a.parquet", n, n, func(i int) float64 {
		ms := 10 + rng.Float64() + 500*float64(i%2)
		if i%50 == 0 {
			ms += 1000 * rng.ExpFloat64()
		}
		exact.Ended(float64(int64(ms*1e6)) / 1e6)
		return ms
	})
	d := Read(dir, [][]result.Cell{{c}})[0].Pooled.Duration
	if len(d.Steps) > 120 {
		t.Errorf("%d steps", len(d.Steps))
	}
	for _, p := range []float64{0, 0.01, 0.5, 0.95, 0.99, 0.999, 1} {
		want, _, _ := exact.Quantile(p)
		if ms, bound := d.at(p); ms != want || bound {
			t.Errorf("p%v is %v (bound %v), want %v", 100*p, ms, bound, want)
		}
	}
}

func TestACurveEndsWhereCutRequestsEndIt(t *testing.T) {
	dir := t.TempDir()
	c := write(t, dir, "a.parquet", 100, 60, func(i int) float64 { return float64(i + 1) })
	r := Read(dir, [][]result.Cell{{c}})[0]
	d := r.Pooled.Duration
	last := d.Steps[len(d.Steps)-1]
	if math.Abs(last.Share-0.6) > 1e-9 || last.Ms != 60 || d.EndMs != 100 {
		t.Errorf("the last step is %+v, the end %v", last, d.EndMs)
	}
	p := r.Pooled.Phases // means of 1 to 60 ms
	if p.Requests != 60 || math.Abs(p.Duration()-30.5) > 1e-6 || math.Abs(p.Connect-0.305) > 1e-6 || math.Abs(p.Waiting-3.05) > 1e-6 {
		t.Errorf("phases %+v", p)
	}
}

func TestRepetitionsArePooled(t *testing.T) {
	dir := t.TempDir()
	cells := []result.Cell{
		write(t, dir, "1.parquet", 10, 10, func(int) float64 { return 10 }),
		{Records: "requests/none.parquet"},
		{}, // never had any
		write(t, dir, "2.parquet", 30, 30, func(int) float64 { return 20 }),
		{Records: "requests/broken.parquet"},
		{Records: "../requests/1.parquet"},
	}
	if err := os.WriteFile(filepath.Join(dir, "requests/broken.parquet"), []byte("PAR1"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := Read(dir, [][]result.Cell{cells})[0]
	if r.Absent != 3 || r.Broken != 1 {
		t.Errorf("%d absent, %d broken", r.Absent, r.Broken)
	}
	if diff := cmp.Diff([]Step{{10, 0.25}, {20, 1}}, r.Pooled.Duration.Steps); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Step{{20, 1}}, r.Each[3].Duration.Steps); diff != "" {
		t.Error(diff)
	}
	if p := r.Pooled.Phases; p.Requests != 40 || math.Abs(p.Duration()-17.5) > 1e-6 {
		t.Errorf("phases %+v", p)
	}
}
