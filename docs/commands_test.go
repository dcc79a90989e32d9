package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"piecebench/bench/bottleneck"
	"piecebench/bench/settings"
	"piecebench/internal/contained"
	"piecebench/lab/labtest"
)

func TestMain(m *testing.M) { os.Exit(contained.Run(m.Run)) }

// pages returns the text of every page, by its path from this folder.
func pages(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{"*.md", "../*.md", "../*/README.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("no pages %s: %v", pattern, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			texts[name] = string(text)
		}
	}
	return texts
}

func TestLinesOfThePagesAreShort(t *testing.T) {
	const most = 100 // characters, outside of tables and program output
	for name, text := range pages(t) {
		for line := range strings.Lines(fence.ReplaceAllString(text, "")) {
			if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > most && !strings.HasPrefix(line, "|") {
				t.Errorf("%s has a line of %d characters, more than %d: %s", name, n, most, line)
			}
		}
	}
}

// fence matches a block between fences; code what else a page shows as code: a
// span, or an indented line.
var (
	fence = regexp.MustCompile("(?ms)^```.*?^```$")
	code  = regexp.MustCompile("`([^`\n]+)`|(?m:^    (.+)$)")
)

// commands returns the lines of code that run a program, in all pages.
func commands(t *testing.T, program string) (found []string) {
	t.Helper()
	start := regexp.MustCompile(`(?:^|\s)` + regexp.QuoteMeta(program) + `( [^#]*)`)
	for _, text := range pages(t) {
		joined := strings.ReplaceAll(fence.ReplaceAllString(text, ""), "\\\n", "")
		for _, shown := range code.FindAllStringSubmatch(joined, -1) {
			if command := start.FindStringSubmatch(shown[1] + shown[2]); command != nil {
				found = append(found, strings.TrimSpace(command[1]))
			}
		}
	}
	if len(found) < 5 {
		t.Fatalf("only %d commands of %s are in the pages", len(found), program)
	}
	return found
}

func TestEveryMakeCommandExists(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("../cmd/piecebench/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var known strings.Builder // the variables that are none of a run's stand there as text
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		known.Write(text)
	}
	for _, v := range settings.Describe() {
		known.WriteString(`"` + v.Name + `"`)
	}
	for _, command := range commands(t, "make") {
		words := strings.Fields(command)
		if !strings.Contains(string(makefile), "\n"+words[0]+": ") {
			t.Errorf("make %s: the Makefile has no %s", command, words[0])
		}
		for _, word := range words[1:] {
			name, _, _ := strings.Cut(word, "=")
			if !strings.Contains(known.String(), `"`+name+`"`) {
				t.Errorf("make %s: there is no variable %s", command, name)
			}
		}
	}
}

func TestThePagesAgainstTheProgram(t *testing.T) {
	program := filepath.Join(labtest.Install(t, "piecebench"), "bin", "piecebench")
	t.Run("every command and flag exists", func(t *testing.T) { everyCommandExists(t, program) })
	t.Run("README shows the sample run", func(t *testing.T) { readmeShowsTheSample(t, program) })
}

func everyCommandExists(t *testing.T, program string) {
	name := regexp.MustCompile(`^[a-z]+$`)
	for _, command := range append(commands(t, "bin/piecebench"), commands(t, "piecebench")...) {
		command, _, _ = strings.Cut(command, " -- ")
		words := strings.Fields(command)
		end := slices.IndexFunc(words, func(word string) bool { return !name.MatchString(word) })
		if end < 0 {
			end = len(words)
		}
		path := strings.Join(words[:end], " ")
		help, err := exec.Command(program, append(slices.Clone(words[:end]), "--help")...).CombinedOutput()
		if err != nil || !strings.Contains(string(help), "\n  piecebench "+path) {
			t.Errorf("piecebench %s: there is no command %s (%v)", command, path, err)
		}
		for _, flag := range words[end:] {
			if strings.HasPrefix(flag, "--") && !strings.Contains(string(help), flag+" ") {
				t.Errorf("piecebench %s: %s has no flag %s", command, path, flag)
			}
		}
	}
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	target := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	for page, text := range pages(t) {
		for _, link := range target.FindAllStringSubmatch(text, -1) {
			file := page
			if link[1] != "" {
				file = filepath.Join(filepath.Dir(page), link[1])
			}
			content, err := os.ReadFile(file)
			if info, statErr := os.Stat(file); statErr == nil && info.IsDir() {
				continue
			}
			if err != nil {
				t.Errorf("%s links to %s: %v", page, link[1], err)
			} else if link[2] != "" && !slices.Contains(anchors(string(content)), link[2]) {
				t.Errorf("%s links to %s, which has no heading for #%s", page, file, link[2])
			}
		}
	}
}

// anchors returns the names that GitHub gives to a page's headings.
func anchors(page string) (names []string) {
	dropped := regexp.MustCompile(`[^a-z0-9 _-]`)
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		name := dropped.ReplaceAllString(strings.ToLower(heading[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

// readmeShowsTheSample holds the output that README shows first to what the
// sample run says.
func readmeShowsTheSample(t *testing.T, program string) {
	said, err := exec.Command(program, "report", "--format", "text", "../results/sample").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(pages(t)["../README.md"], "\n```\n")
	shown, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("README.md has no block of output")
	}
	for line := range strings.Lines(shown) {
		if line != "...\n" && !strings.Contains(string(said), line) {
			t.Errorf("README.md shows %q, which `bin/piecebench report --format text results/sample` does not say: copy the block again", line)
		}
	}
}

func TestTuningKnowsEveryBottleneck(t *testing.T) {
	page := pages(t)["TUNING.md"]
	for _, rule := range bottleneck.Rules {
		if !strings.Contains(page, "\n| `"+rule.By+"` | ") {
			t.Errorf("TUNING.md does not say what to change for the bottleneck %s", rule.By)
		}
	}
}
