package main_test

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// commandLines returns those of all processes that hold a text.
func commandLines(t *testing.T, text string) (found []string) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(names) == 0 {
		t.Error("no processes in /proc: ", err)
	}
	for _, name := range names {
		if line, _ := os.ReadFile(name); bytes.Contains(line, []byte(text)) { // it may have ended
			found = append(found, string(line))
		}
	}
	return found
}

func TestSecretsOfATargetAreInNoProcessListOrError(t *testing.T) {
	p := newProgram(t)
	secret := rand.Text()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if user, password, _ := r.BasicAuth(); user != "Aladdin" || password != secret || r.URL.Query().Get("token") != secret {
			t.Errorf("asked as %q with %q, query %q", user, password, r.URL.RawQuery)
		}
		if found := commandLines(t, secret); found != nil {
			t.Errorf("in the process list: %q", found)
		}
		http.Error(w, "closed", http.StatusUnauthorized)
	}))
	defer server.Close()
	target := "x=http://Aladdin:" + secret + "@" + strings.TrimPrefix(server.URL, "http://") + "/{piece}?token=" + secret
	arguments := []string{"run", "--links", "none", "--modes", "1MiB", "--manifest", manifest(t)}
	for _, given := range [][]string{{"--targets", target}, {"--targets=" + target}} {
		stdout, stderr, code := p.run(append(arguments, given...)...)
		if code != 2 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "status 401") || !strings.Contains(stderr, "user and password?") {
			t.Errorf("exit code %d, %q", code, stderr)
		}
		if said := stdout + stderr; strings.Contains(said, secret) || strings.Contains(said, "Aladdin") {
			t.Errorf("said %q", said)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times, want 2", asked)
	}
}
