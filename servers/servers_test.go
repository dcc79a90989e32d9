package servers

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const sound = "port: 8000\nclients: 100\nserves: [pieces]\nversion: [server, -v]\nrun: [server, '{data}']\n"

func TestARecipeThatCannotWorkIsRefused(t *testing.T) {
	for want, text := range map[string]string{
		"":                                sound,
		"field prot not found":            sound + "prot: 1\n",
		"port: 80: want one from 1024":    strings.Replace(sound, "8000", "80", 1),
		"port: 9100 is the lab's own":     strings.Replace(sound, "8000", "9100", 1),
		"clients: want":                   strings.Replace(sound, "clients: 100\n", "", 1),
		"run and version: want":           strings.Replace(sound, "run: [server, '{data}']", "run: []", 1),
		`serves: "files"`:                 strings.Replace(sound, "[pieces]", "[pieces, files]", 1),
		"serves: want [pieces]":           strings.Replace(sound, "[pieces]", "[objects]", 1),
		"{dat} is none of {folder} {data": strings.Replace(sound, "{data}", "{dat}", 1),
		"servers/one has the same":        sound + "target: one\n",
	} {
		_, err := read(fstest.MapFS{
			"one/recipe.yml": {Data: []byte(strings.Replace(sound, "8000", "8001", 1))},
			"two/recipe.yml": {Data: []byte(text)},
		})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), "servers/two/recipe.yml: ") || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

// Settings, results and documentation of earlier versions name them.
func TestTheFirstTargetsKeepTheirNames(t *testing.T) {
	for target, name := range map[string]string{"raw": "nginx", "gateway": "gateway"} {
		if r, ok := Of(target); !ok || r.Name != name {
			t.Errorf("target %s: %v, %v; want servers/%s", target, r.Name, ok, name)
		}
	}
}

// README.md is what a person reads who writes a recipe.
func TestEveryFieldAndPlaceholderIsDescribed(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	fields := []string{"target", "port", "clients", "serves", "packages", "version", "load", "run", "root", "processes", "stub_status"}
	for _, word := range slices.Concat(fields, placeholders) {
		if !strings.Contains(string(text), "| `"+word+"`") {
			t.Errorf("README.md does not describe %s", word)
		}
	}
}

func TestEveryFolderHasARecipe(t *testing.T) {
	entries, err := fs.ReadDir(os.DirFS("."), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !slices.ContainsFunc(All(), func(r Recipe) bool { return r.Name == e.Name() }) {
			t.Errorf("%s has no recipe.yml", e.Name())
		}
	}
}
