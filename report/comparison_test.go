package report_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"piecebench/bench/compare"
	"piecebench/bench/result"
	"piecebench/report/comparison"
	"piecebench/report/markdown"
	"piecebench/report/page"
	"piecebench/report/text"
)

func recorded(t *testing.T, name string) *result.Run {
	t.Helper()
	run, err := result.Load("../bench/result/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func comparisonOf(t *testing.T, a, b *result.Run, targets ...string) *compare.Comparison {
	t.Helper()
	c, err := compare.Runs(a, b, targets)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestComparisonOfTwoTargets(t *testing.T) {
	run := recorded(t, "identical-10gbit")
	md := markdown.Document(comparison.Document(comparisonOf(t, run, run, "raw", "gateway")))
	wants(t, md, "**gateway against raw in 20261121T061156Z-vm. Goodput: no difference beyond 5 % in 2 of 2 rows.**",
		"- **noise**: ", "| metric | worse | better | no difference | unclear | not judged |", "| server CPU | 2 | 0 | 0 | 0 | 0 |",
		"| link | mode | clients | raw | gateway | gateway / raw | 99 % interval | pairs | verdict |",
		"| 10gbit/40ms | 1MiB | 100 | 0.15 s/GB | 0.46 s/GB | 3.075 |", "gateway - raw")
	if strings.Contains(md, "What else differs") {
		t.Error("one run differs from itself")
	}
}

// The conditions come before the figures, in every format.
func TestComparisonOfTwoRunsListsWhatElseDiffersFirst(t *testing.T) {
	a, b := recorded(t, "identical-10gbit"), recorded(t, "identical-10gbit")
	b.ID, b.Fingerprint["kernel"], b.Planned = "later", "7.0", 40
	b.Cells = b.Cells[:len(b.Cells)-15] // without 10MiB
	c := comparisonOf(t, a, b)
	html, err := page.Document(comparison.Document(c))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"text": text.Document(comparison.Document(c), 1000), "Markdown": markdown.Document(comparison.Document(c)), "HTML": string(html)} {
		if !strings.Contains(text, "B later against A 20261121T061156Z-vm") || !strings.Contains(text, "later has 15 of 40 planned cells") {
			t.Errorf("%s does not say what is compared", name)
		}
		differs, kernel, goodput, only := strings.Index(text, "What else differs"), strings.Index(text, "7.0"), strings.LastIndex(text, "Goodput"), strings.Index(text, "Only in A")
		if differs < 0 || kernel < differs || goodput < kernel || only < goodput || !strings.Contains(text[only:], "gateway, 10MiB, 100 clients, 10gbit/40ms") {
			t.Errorf("%s: differences at %d, kernel at %d, goodput at %d, what only A has at %d", name, differs, kernel, goodput, only)
		}
	}
}

func TestComparisonWithoutRepetitionsSaysThatNothingIsShown(t *testing.T) {
	a, b := runOf(cell("raw", "full", 1, 900)), runOf(cell("raw", "full", 1, 450))
	b.ID = "b"
	wants(t, text.Document(comparison.Document(comparisonOf(t, a, b)), 1000),
		"Goodput: unclear in 1 of 1 row.",
		"! no intervals: 1 row with fewer than three repetitions on both sides. One repetition allows no interval", "Measure with REPEAT=5.",
		"900 Mbit/s 450 Mbit/s 0.500 – 1 unclear",
		"> 12.0 s > 12.0 s – – 1 unclear") // both sides cut
}

func TestComparisonShowsBoundsAsBounds(t *testing.T) {
	var known, cut []result.Cell
	for rep := range 5 {
		c := cell("raw", "full", 1, 900)
		c.Repetition, c.Duration.P95 = rep+1, &result.Quantile{Ms: 1000 + float64(rep)}
		known = append(known, c)
		c.Duration.P95 = &result.Quantile{Ms: 12000 - float64(rep), Bound: true}
		cut = append(cut, c)
	}
	wants(t, text.Document(comparison.Document(comparisonOf(t, runOf(known...), runOf(cut...))), 1000), "1.00 s > 12.0 s > 12.0 > 11.9 5 worse")
	wants(t, text.Document(comparison.Document(comparisonOf(t, runOf(cut...), runOf(known...))), 1000), "> 12.0 s 1.00 s < 0.084 < 0.084 5 better")
}

func TestComparisonOfHostileNamesDoesNothing(t *testing.T) {
	bad := cell(hostile, hostile, 1, 1)
	bad.Link = hostile
	a, b := runOf(bad), runOf(bad, cell(hostile+"2", "x", 1, 1))
	a.ID, b.ID = hostile, hostile+"b"
	a.Fingerprint = map[string]string{hostile: hostile}
	c := comparisonOf(t, a, b)
	html, err := page.Document(comparison.Document(c))
	if err != nil {
		t.Fatal(err)
	}
	if regexp.MustCompile(`<script`).Match(html) {
		t.Error("HTML holds a script")
	}
	for _, active := range []string{"<script", "[a]", "@c", "\x1b", "`x`"} {
		if strings.Contains(markdown.Document(comparison.Document(c)), active) {
			t.Errorf("Markdown holds an active %q", active)
		}
	}
	if strings.Contains(text.Document(comparison.Document(c), 1000), "\x1b") {
		t.Error("text holds an escape character")
	}
}

func TestComparisonAsAPageIsInTheLookOfTheReport(t *testing.T) {
	run := recorded(t, "identical-10gbit")
	html, err := page.Document(comparison.Document(comparisonOf(t, run, run, "raw", "gateway")))
	if err != nil {
		t.Fatal(err)
	}
	style, err := os.ReadFile("page/site/page.css")
	if err != nil {
		t.Fatal(err)
	}
	wants(t, string(html), string(style), "<h1>gateway against raw", "default-src 'none'",
		`<td class="worse">worse</td>`, `<td class="right">3.075</td>`)
}

func TestRegressionsAreNamedInOneLine(t *testing.T) {
	run := recorded(t, "identical-10gbit")
	c := comparisonOf(t, run, run, "raw", "gateway")
	found, err := c.Regressions(0.05)
	if err != nil {
		t.Fatal(err)
	}
	line := comparison.Regressions(c, found)
	wants(t, line, "server CPU, 1MiB, 100 clients, 10gbit/40ms: 3.075 (")
	if strings.Contains(line, "\n") {
		t.Errorf("more than a line: %q", line)
	}
}
