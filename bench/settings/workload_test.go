package settings

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piecebench/bench/workload"
)

// script makes a script of one's own, and returns its path.
func script(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mine.js")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// blocks is a workload with jobs, as long as a test runs.
func blocks(t *testing.T) {
	t.Helper()
	table, variablesBefore := workload.Table, variables
	workload.Table = append(table[:len(table):len(table)], workload.Workload{
		Name: "blocks", Script: "blocks.js", Jobs: true, Objects: true, Presets: map[string]string{"MODES": "10,100", "TARGETS": "raw"},
		Variables: []workload.Variable{{Name: "BLOCK", Default: "1KiB", Meaning: "size", Parse: func(text string) (string, error) {
			return strings.TrimSuffix(text, "KiB"), nil
		}}},
		ParseMode: func(text string, parameters map[string]string) (workload.Mode, error) {
			return workload.Mode{Name: text + "x" + parameters["BLOCK"]}, nil
		},
	})
	variables = append(workloadVariables(), variablesBefore[len(workloadVariables())-1:]...)
	t.Cleanup(func() { workload.Table, variables = table, variablesBefore })
}

func TestAWorkloadHasItsOwnModesAndVariables(t *testing.T) {
	blocks(t)
	s, err := FromText(map[string]string{"WORKLOAD": "blocks", "BLOCK": "2KiB", "CONCURRENCY": "1,2/10:3,", "PROFILE": "quick"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Modes[0].Name != "10x2" || s.Modes[1].Name != "100x2" || s.Parameters["BLOCK"] != "2" || s.Text["BLOCK"] != "2KiB" || s.Text["MODES"] != "10,100" || s.Text["TARGETS"] != "raw" {
		t.Errorf("%+v", s)
	}
	if got := s.Concurrency.Of(s.Modes[0]); len(got) != 1 || got[0] != 3 {
		t.Errorf("the first mode has %v clients", got)
	}
	if _, has := s.Text["PARAMETERS"]; has {
		t.Error("PARAMETERS is recorded, of which the workload has no use")
	}
	retrieval, err := FromText(nil)
	if _, has := retrieval.Text["BLOCK"]; has || err != nil || retrieval.Parameters != nil || retrieval.Text["WORKLOAD"] != "retrieval" {
		t.Errorf("%+v, %v", retrieval, err)
	}
	described := Describe()
	if !strings.Contains(described[0].Meaning, "blocks") || !slices.ContainsFunc(described, func(d Description) bool { return d.Name == "BLOCK" }) {
		t.Errorf("%+v", described)
	}
	if err := CheckMakeOverrides(" -- BLOCK=1KiB WORKLOAD=blocks"); err != nil {
		t.Error(err)
	}
}

func TestAScriptOfOnesOwnIsHandedOnWithItsParametersAndRecordedWithoutItsPath(t *testing.T) {
	path := script(t)
	want, err := FromText(map[string]string{"WORKLOAD": path, "PARAMETERS": "a=1, b=x=y", "TARGETS": "mine=http://h/{piece},mine=http://h/o/{object}"})
	if err != nil {
		t.Fatal(err)
	}
	if want.Workload != path || want.Text["WORKLOAD"] != "mine.js" {
		t.Errorf("workload %s, recorded as %s", want.Workload, want.Text["WORKLOAD"])
	}
	if diff := cmp.Diff(map[string]string{"a": "1", "b": "x=y"}, want.Parameters); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Target{{Name: "mine", URL: "http://h/{piece}", ObjectURL: "http://h/o/{object}"}}, want.Targets); diff != "" {
		t.Error(diff)
	}
	if got := want.Text["TARGETS"]; got != "mine=http://h/{piece},mine=http://h/o/{object}" {
		t.Error(got)
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Settings
	err = json.Unmarshal(text, &got)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestWhatAWorkloadHasNoUseForIsRefused(t *testing.T) {
	blocks(t)
	own := script(t)
	for _, c := range []struct {
		given map[string]string
		says  string
	}{
		{map[string]string{"BLOCK": "1KiB"}, "BLOCK=1KiB: no variable of WORKLOAD=retrieval"},
		{map[string]string{"PARAMETERS": "a=1"}, "PARAMETERS=a=1: no variable of WORKLOAD=retrieval"},
		{map[string]string{"PARAMETERS": "a=1", "WORKLOAD": "blocks"}, "no variable of WORKLOAD=blocks"},
		{map[string]string{"BLOCK": "1KiB", "WORKLOAD": own}, "no variable of WORKLOAD=mine.js"},
		{map[string]string{"PARAMETERS": "a", "WORKLOAD": own}, "name=value"},
		{map[string]string{"PARAMETERS": "a=1,a=2", "WORKLOAD": own}, "a is listed twice"},
		{map[string]string{"WORKLOAD": "bathc"}, "WORKLOAD=bathc: unknown; known: retrieval, "},
		{map[string]string{"WORKLOAD": "absent.js"}, "WORKLOAD=absent.js: the script cannot be read"},
		{map[string]string{"TARGETS": "a=http://h/{object}"}, "WORKLOAD=retrieval asks for pieces, and target a has none"},
		{map[string]string{"TARGETS": "a=http://h/{piece}", "WORKLOAD": "blocks"}, "WORKLOAD=blocks asks for objects, and target a has none"},
		{map[string]string{"TARGETS": "a=http://h/{piece},a=http://g/{piece}"}, "a is listed twice"},
		{map[string]string{"TARGETS": "raw,raw=http://h/{piece}"}, "raw is listed twice"},
		{map[string]string{"TARGETS": "a=http://h/{piece}/{object}"}, "want a=http"},
	} {
		if _, err := FromText(c.given); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v; want %q", c.given, err, c.says)
		}
	}
}

func TestARunWithoutAWorkloadIsOfRetrieval(t *testing.T) {
	old := map[string]string{"MODES": "full", "PRICE_EGRESS": "1"}
	if diff := cmp.Diff(map[string]string{"MODES": "full", "WORKLOAD": "retrieval"}, Measuring(old)); diff != "" || WorkloadOf(nil) != "retrieval" {
		t.Error(diff)
	}
}
