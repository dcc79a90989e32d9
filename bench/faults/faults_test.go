package faults

import (
	"os"
	"strings"
	"testing"
)

func TestTheDocumentedTableIsTheCampaigns(t *testing.T) {
	text, err := os.ReadFile("../../docs/FAULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), Table()) {
		t.Errorf("docs/FAULTS.md lacks the table:\n%s", Table())
	}
}
