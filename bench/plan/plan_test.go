package plan

import (
	"fmt"
	"testing"

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
