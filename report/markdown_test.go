package report_test

import (
	"fmt"
	"strings"
	"testing"

	"piecebench/bench/result"
	"piecebench/report/comparison"
	"piecebench/report/markdown"
)

func TestMarkdownOfTheRecordedRunTellsWhatLimitedItsCells(t *testing.T) {
	c := cell("raw", "full", 1, 900)
	c.LimitedBy, c.Because = "link", "99 % of the link’s ceiling"
	unknown := cell("gateway", "full", 1, 800)
	md := markdownOf(runOf(c, unknown))
	wants(t, md, "<summary>What limited them, and the figures that show it</summary>",
		"| 1gbit/40ms | full | 1 | raw | link | 99 % of the link’s ceiling |", "| gateway | 800 (80 %) | 0.89 | 80.0 ms | 100 ms | – | 1.50 s | > 12.0 s | – | 100 % | 0 | – |")
	if strings.Contains(markdownOf(runOf(unknown)), "the figures that show it") {
		t.Error("a run without verdicts has a table of them")
	}
}

func TestOfManyRowsTheTellingOnesStandOpen(t *testing.T) {
	var cells []result.Cell
	for _, mode := range []string{"full", "1MiB"} {
		for n := 1; n <= 10; n++ {
			// The more clients, the further the gateway falls behind; but with 3 most of all.
			share := 1 - 0.01*float64(n)
			if n == 3 {
				share = 0.2
			}
			cells = append(cells, cell("raw", mode, n, 500), cell("gateway", mode, n, 500*share))
		}
	}
	md := markdownOf(runOf(cells...))
	open, folded, found := strings.Cut(md, "<details><summary>All figures</summary>")
	if !found {
		t.Fatal("there is no table of all figures")
	}
	wants(t, open, "Of each mode the row furthest behind raw and the middle one: 4 of 20 rows.", "| full | 3 | 500 (50 %) | 100 (10 %) | 0.20 |", "| full | 6 | 500 (50 %) |", "| 1MiB | 3 |")
	if n := strings.Count(open, "| 500 (50 %)"); n != 4 {
		t.Errorf("%d rows stand open, want 4", n)
	}
	wants(t, folded, "| full | 1 | raw |", "| 1MiB | 10 | raw |")
}

// An issue on GitHub takes 65,536 characters.
func TestMarkdownOfAnyRunFitsIntoAnIssue(t *testing.T) {
	wide := sweep{links: []string{"1gbit/40ms", "10gbit/40ms"}, repeat: 1}
	for i := range 5 {
		wide.targets = append(wide.targets, fmt.Sprintf("target-with-quite-a-long-name-%d", i))
		wide.modes = append(wide.modes, fmt.Sprintf("%dMiB", 1<<i))
	}
	for n := 1; n <= 10; n++ {
		wide.concurrency = append(wide.concurrency, n*100)
	}
	deep := wide
	deep.modes = nil
	for i := range 60 {
		deep.modes = append(deep.modes, fmt.Sprintf("%dMiB", i+1))
	}
	pair := defaultSweep
	pair.concurrency = nil
	for n := range 32 {
		pair.concurrency = append(pair.concurrency, n+1)
	}
	for name, s := range map[string]sweep{"500 cells of five targets": wide, "6000 cells": deep, "512 cells of two targets": pair} {
		run := synthetic(s)
		run.Settings["PRICE_SERVER_HOUR"] = "1.5"
		for i := range run.Cells {
			run.Cells[i].Because = "figures that decided it, in as many words as a verdict takes of them, which are some"
		}
		md := markdownOf(run)
		t.Logf("%s: %d bytes", name, len(md))
		if len(md) > 65536 {
			t.Errorf("%s: %d bytes", name, len(md))
		}
		wants(t, md, "more rows have no room in an issue: they are in report.html and cells.csv.", "| kernel | 6.1.0-synthetic |", "- **goodput**:")
		if strings.Count(md, "<details>") != strings.Count(md, "</details>") {
			t.Errorf("%s: a fold is not closed", name)
		}
	}
	if md := markdownOf(synthetic(defaultSweep)); strings.Contains(md, "have no room") || strings.Contains(md, "Of each mode") {
		t.Error("the default sweep is cut")
	}
}

func TestAComparisonAsMarkdownFitsIntoAnIssue(t *testing.T) {
	many := defaultSweep
	many.concurrency = nil
	for n := range 32 {
		many.concurrency = append(many.concurrency, n+1)
	}
	run := synthetic(many)
	md := markdown.Document(comparison.Document(comparisonOf(t, run, run, "raw", "gateway")))
	if len(md) > 65536 {
		t.Errorf("%d bytes", len(md))
	}
	wants(t, md, "## Goodput", "<summary>TTFB p50</summary>", "more rows have no room in an issue: they are in the comparison as text and HTML.", "- **unclear**")
}
