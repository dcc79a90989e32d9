package markdown

import (
	"fmt"
	"strings"
	"testing"

	"piecebench/report"
)

const hostile = "<script>alert(1)</script>|`x`*_[a](b)@c\x1b[2J\ny https://h www.h #1 <!-- </details>"

func TestTitlesOfFoldsDoNothing(t *testing.T) {
	text := Document(report.Document{Sections: []report.Section{{Title: hostile, Fold: true, Table: report.Table{Head: []report.Column{report.Left("n")}}}}})
	for _, active := range []string{"<script", "@c", "#1", "\x1b", "\ny", "</details> "} {
		if strings.Contains(text, active) {
			t.Errorf("a title holds an active %q", active)
		}
	}
}

func TestARowThatDoesNotFitIsCounted(t *testing.T) {
	narrow, whole := report.Table{Head: []report.Column{report.Left("n")}}, report.Table{Head: []report.Column{report.Left("m")}}
	for i := range 100 {
		narrow.Add(fmt.Sprint("row ", i))
	}
	whole.Add("whole")
	text := Document(report.Document{Headline: strings.Repeat("x", maxLength-500),
		Sections: []report.Section{{Title: "a", Table: narrow, Fold: true, Rank: 1}, {Title: "b", Table: whole}}})
	shown := strings.Count(text, "| row ")
	if !strings.Contains(text, fmt.Sprintf("%d more rows", 100-shown)) || !strings.Contains(text, "| whole |") || shown == 0 || len(text) > maxLength {
		t.Errorf("%d rows are shown, in %d bytes", shown, len(text))
	}
}
