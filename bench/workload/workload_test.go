package workload

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryWorkloadHasItsScriptAndModes(t *testing.T) {
	for _, w := range Table {
		if _, err := os.Stat(w.Path("../../k6/scripts")); err != nil {
			t.Error(err)
		}
		parameters := map[string]string{}
		for _, v := range w.Variables {
			value, err := v.Parse(v.Default)
			if err != nil {
				t.Errorf("%s: %s=%s: %v", w.Name, v.Name, v.Default, err)
			}
			parameters[v.Name] = value
		}
		for text := range strings.SplitSeq(w.Presets["MODES"], ",") {
			if mode, err := w.ParseMode(text, parameters); err != nil || !modeName.MatchString(mode.Name) {
				t.Errorf("%s: MODES=%s: %+v, %v", w.Name, text, mode, err)
			}
		}
		if found, err := Find(w.Name); err != nil || found.Own() || Of(found.ID()).Script != w.Script {
			t.Errorf("%s is found as %+v, %v", w.Name, found, err)
		}
	}
	if Of("").Name != Retrieval {
		t.Error("a run that names no workload is not of the default one")
	}
}

func TestAScriptOfOnesOwnIsAWorkload(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("mine.js", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := Find("mine.js")
	if err != nil || !w.Own() || w.Name != "mine.js" || !filepath.IsAbs(w.Path("elsewhere")) || Of(w.ID()).Path("") != w.Script || w.Unit() != "job" {
		t.Errorf("%+v, %v", w, err)
	}
	for text, want := range map[string]Mode{
		"packed":  {Name: "packed"},
		"1024KiB": {Name: "1MiB", Length: 1 << 20},
		"full":    {Name: "full"},
		"10":      {Name: "10"},
	} {
		if mode, err := w.ParseMode(text, nil); err != nil || mode != want {
			t.Errorf("mode %s: %+v, %v", text, mode, err)
		}
	}
	if _, err := w.ParseMode("a/b", nil); err == nil {
		t.Error("a mode that cannot be part of a file's name is accepted")
	}
	if err := os.Mkdir("folder.js", 0o755); err != nil {
		t.Fatal(err)
	}
	for text, says := range map[string]string{"absent.js": "cannot be read", "folder.js": "no file", "bathc": "known: retrieval, "} {
		if _, err := Find(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
