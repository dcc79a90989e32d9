package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHeadersAreOfTargetsOfOnesOwnAndAreNotKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "headers.txt")
	if err := os.WriteFile(file, []byte("# mine\n\nauthorization:  Bearer secret \nX-Key: a\nX-Key: b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const targets = "raw,a=http://a/{piece},b=http://b/{piece_v2}"
	for given, want := range map[string]string{"@" + file: "a=@***,b=@***", "b=@" + file: "b=@***"} {
		s, err := FromText(map[string]string{"TARGETS": targets, "HEADERS": given})
		if err != nil {
			t.Fatal(err)
		}
		b := s.Targets[2].Header
		if s.Text["HEADERS"] != want || s.Targets[0].Header != nil || b.Get("Authorization") != "Bearer secret" || len(b["X-Key"]) != 2 {
			t.Errorf("%s: recorded as %s, %+v", given, s.Text["HEADERS"], s.Targets)
		}
	}
	for given, says := range map[string]string{
		"c=@" + file:                     `the name "c"`,
		"raw=@" + file:                   `the name "raw"`,
		"@" + file + ",a=@" + file:       "target a has two",
		"a=@/no/such/file":               "/no/such/file",
		"a=Authorization: Bearer secret": "process list",
		"Authorization: Bearer secret":   "process list",
	} {
		_, err := FromText(map[string]string{"TARGETS": targets, "HEADERS": given})
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", given, err)
		}
	}
	if _, err := FromText(map[string]string{"TARGETS": "a=http://u:p@a/{piece}", "HEADERS": "@" + file}); err == nil || !strings.Contains(err.Error(), "one of them") {
		t.Error(err)
	}
}
