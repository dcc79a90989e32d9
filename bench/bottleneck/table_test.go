package bottleneck_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piecebench/bench/bottleneck"
)

// The methodology's table is this package's.
func TestMethodologyHasTheSameRules(t *testing.T) {
	text, err := os.ReadFile("../../docs/METHODOLOGY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## What limited a cell\n")
	if !found {
		t.Fatal("docs/METHODOLOGY.md has no section “What limited a cell”")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []string
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "| `") {
			documented = append(documented, line)
		}
	}
	var rules []string
	for _, r := range bottleneck.Rules {
		rules = append(rules, fmt.Sprintf("| `%s` | %s |\n", r.By, r.When))
	}
	if diff := cmp.Diff(rules, documented); diff != "" {
		t.Errorf("docs/METHODOLOGY.md and the rules differ:\n%s", diff)
	}
}
