package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piecebench/bench/settings"
)

func outlooks(t *testing.T, given map[string]string) []Outlook {
	t.Helper()
	s, err := settings.FromText(given)
	if err != nil {
		t.Fatal(err)
	}
	return Outlooks(s)
}

func TestACellNeedsAWindowThatHoldsOneRequestOfEachClient(t *testing.T) {
	for _, c := range []struct {
		name  string
		given map[string]string
		needs time.Duration
	}{
		// 512 MiB / 128 x 127 x 8 bit over 956.4 Mbit/s: 4.46 s for one client.
		{"one client", map[string]string{"CONCURRENCY": "1,"}, 0},
		{"ten clients", map[string]string{"CONCURRENCY": "10,"}, 45 * time.Second},
		{"ten clients with time", map[string]string{"CONCURRENCY": "10,", "DURATION": "45s"}, 0},
		{"ten clients, each twice", map[string]string{"CONCURRENCY": "10,", "DURATION": "45s", "REQUESTS": "2", "WARMUP": "0s"}, 90 * time.Second},
		{"a long path", map[string]string{"LINKS": "10gbit/3s", "MODES": "1MiB", "CONCURRENCY": "1,"}, 25 * time.Second},
		{"no rate", map[string]string{"LINKS": "none", "CONCURRENCY": "1000,"}, 0},
	} {
		given := map[string]string{"LINKS": "1gbit/40ms", "MODES": "full", "TARGETS": "raw"}
		for name, value := range c.given {
			given[name] = value
		}
		if got := outlooks(t, given)[0].Needs; got != c.needs {
			t.Errorf("%s: needs %s, want %s", c.name, got, c.needs)
		}
		if c.needs > 0 {
			given["DURATION"] = c.needs.String()
			if got := outlooks(t, given)[0].Needs; got != 0 {
				t.Errorf("%s: with DURATION=%s it needs %s", c.name, c.needs, got)
			}
		}
	}
}

func TestSlowStartDominatesSmallRangesOfFewClients(t *testing.T) {
	for _, o := range outlooks(t, map[string]string{"LINKS": "1gbit/40ms", "MODES": "1MiB", "TARGETS": "raw"}) {
		if want := o.Concurrency <= 10; o.SlowStartDominates() != want {
			t.Errorf("%d clients: slow start %s, ideal %s", o.Concurrency, o.SlowStart, o.Ideal)
		}
		if o.Least() < o.Ideal || o.Least() < o.SlowStart {
			t.Errorf("%d clients: least %s", o.Concurrency, o.Least())
		}
	}
}

func TestThePlanAsText(t *testing.T) {
	s, err := settings.FromText(map[string]string{"LINKS": "1gbit/40ms,none", "MODES": "full,1MiB", "TARGETS": "raw", "CONCURRENCY": "1,100"})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := Write(&text, s); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, line := range strings.Split(text.String(), "\n") {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"cell target link mode clients ideal request at most",
		"1 raw 1gbit/40ms full 1 4.456s 1.4 GB",
		"2 raw 1gbit/40ms full 100 7m25.6s 1.4 GB needs DURATION=7m26s",
		"3 raw 1gbit/40ms 1MiB 1 9ms 1.4 GB slow start: 321ms",
		"4 raw 1gbit/40ms 1MiB 100 877ms 1.4 GB",
		"5 raw none full 1 - -",
		"6 raw none full 100 - -",
		"7 raw none 1MiB 1 - -",
		"8 raw none 1MiB 100 - -",
		"",
		"8 cells, about 3m, at most 5.7 GB over links that have a rate",
		"No request fits into the window of 1 of 8 cells: they show goodput, and of durations only bounds. DURATION=7m26s is enough for all, and the sweep then takes about 1h1m.",
		"",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}
