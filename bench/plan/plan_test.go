package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piecebench/bench/settings"
)

func order(t *testing.T, given map[string]string) []string {
	t.Helper()
	s, err := settings.FromText(given)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, c := range Cells(s) {
		if c.ID != i+1 {
			t.Errorf("cell %d has ID %d", i, c.ID)
		}
		got = append(got, fmt.Sprintf("%s %s %d %s #%d", c.Link, c.Mode.Name, c.Concurrency, c.Target.Name, c.Repetition))
	}
	return got
}

func TestTargetOrderTurnsRoundWithEachRepetition(t *testing.T) {
	got := order(t, map[string]string{"LINKS": "none", "MODES": "full", "CONCURRENCY": "5,", "REPEAT": "3"})
	want := []string{
		"none full 5 raw #1", "none full 5 gateway #1",
		"none full 5 gateway #2", "none full 5 raw #2",
		"none full 5 raw #3", "none full 5 gateway #3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEachLinkIsSetOnce(t *testing.T) {
	got := order(t, nil)
	if len(got) != 2*4*4*2 {
		t.Errorf("the default sweep has %d cells, not 64", len(got))
	}
	changes, last := 0, ""
	for _, cell := range got {
		var link string
		fmt.Sscan(cell, &link)
		if link != last {
			changes, last = changes+1, link
		}
	}
	if changes != 2 {
		t.Errorf("the link changes %d times", changes)
	}
}

func TestBoost2023IsTheStudysSweep(t *testing.T) {
	s, err := settings.FromText(map[string]string{"PROFILE": "boost-2023", "LINKS": "1gbit/40ms"})
	if err != nil {
		t.Fatal(err)
	}
	clients := map[string][]int{}
	for _, c := range Cells(s) {
		if c.Target.Name == "raw" {
			clients[c.Mode.Name] = append(clients[c.Mode.Name], c.Concurrency)
		}
		// 1000 clients at 1 Gbit/s is the study's slowest step: 15 minutes of the 30.
		if CellTime(c, s) > 15*time.Minute {
			t.Errorf("cell %d (%s, %d clients) is expected to take %s", c.ID, c.Mode.Name, c.Concurrency, CellTime(c, s))
		}
		if want := float64(c.Mode.Length) * float64(c.Concurrency); c.Mode.Length > 0 && MostBytes(c, s) != want {
			t.Errorf("cell %d transfers %.0f bytes at most, not one range a client, %.0f", c.ID, MostBytes(c, s), want)
		}
	}
	ranges := []int{10, 100, 1000}
	want := map[string][]int{"full": {1, 8, 16, 32, 64}, "1MiB": ranges, "10MiB": ranges, "100MiB": ranges}
	if diff := cmp.Diff(want, clients); diff != "" {
		t.Error(diff)
	}
}

func TestACellTakesItsWindowUnlessItsRequestsEndBefore(t *testing.T) {
	for requests, want := range map[string]time.Duration{
		"window": 10 * time.Second,
		"1":      877 * time.Millisecond, // 100 MiB at 956 Mbit/s
		"100":    10 * time.Second,
	} {
		s, err := settings.FromText(map[string]string{"REQUESTS": requests, "WARMUP": "0s", "LINKS": "1gbit/40ms", "MODES": "100MiB", "CONCURRENCY": "1"})
		if err != nil {
			t.Fatal(err)
		}
		if got := CellTime(Cells(s)[0], s) - cellOverhead; got.Round(time.Millisecond) != want {
			t.Errorf("REQUESTS=%s: %s, want %s", requests, got, want)
		}
	}
}
