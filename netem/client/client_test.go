package client_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"piecebench/netem/client"
	"piecebench/netem/link"
)

// agent is a stand-in that hands each request to a test.
func agent(t *testing.T, token string, answer func(r *http.Request, body map[string]any) client.State) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body) // of a GET there is none
		_ = json.NewEncoder(w).Encode(answer(r, body))
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, token)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestALinkIsRenewedAsLongAsItsRunnerLives(t *testing.T) {
	renewed := make(chan client.Renewal, 100)
	asked := make(chan any, 1)
	c := agent(t, "", func(r *http.Request, body map[string]any) client.State {
		if r.URL.Path == "/lease" {
			renewed <- client.Renewal{Lease: body["lease"].(string), LeaseS: body["lease_s"].(float64)}
		} else {
			asked <- body["lease_s"]
		}
		return client.State{Lease: "mine"}
	})
	release := c.Keep(40 * time.Millisecond)
	if _, err := c.SetLink(context.Background(), link.None); err != nil {
		t.Fatal(err)
	}
	if got := <-asked; got != 0.04 {
		t.Errorf("the link was asked for with lease_s %v, want 0.04", got)
	}
	for range 3 {
		if got := <-renewed; got != (client.Renewal{Lease: "mine", LeaseS: 0.04}) {
			t.Errorf("renewed %+v", got)
		}
	}
	release()
	close(renewed)
	var last client.Renewal
	for last = range renewed {
	}
	if last != (client.Renewal{Lease: "mine"}) {
		t.Errorf("at the end %+v, want the lease ended", last)
	}
}

func TestALinkSetByHandHasNoLease(t *testing.T) {
	c := agent(t, "", func(_ *http.Request, body map[string]any) client.State {
		if _, given := body["lease_s"]; given {
			t.Errorf("a lease is asked for: %v", body)
		}
		return client.State{}
	})
	if _, err := c.SetLink(context.Background(), link.None); err != nil {
		t.Fatal(err)
	}
}

func TestTheTokenIsShownToTheAgentAndNowhereElse(t *testing.T) {
	const secret = "d1c7b4a0secret"
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{client.TokenVariable: secret, client.TokenFileVariable: file} {
		t.Setenv(client.TokenVariable, "")
		t.Setenv(client.TokenFileVariable, "")
		t.Setenv(name, value)
		token, err := client.TakeToken()
		if err != nil || token != secret {
			t.Errorf("%s: %q, %v", name, token, err)
		}
		if left := os.Getenv(client.TokenVariable); left != "" {
			t.Errorf("%s: commands that are started would have it: %q", name, left)
		}
		var shown string
		c := agent(t, token, func(r *http.Request, _ map[string]any) client.State {
			shown = r.Header.Get("Authorization")
			return client.State{}
		})
		if _, err := c.Link(context.Background()); err != nil || shown != "Bearer "+secret {
			t.Errorf("%s: shown %q, %v", name, shown, err)
		}
	}
}

func TestABadTokenIsRefusedWithoutBeingShown(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, environment := range [][2]string{{"se cret", ""}, {"secret\r\nX: y", ""}, {"", empty}, {"", filepath.Join(dir, "none")}, {"secret", empty}} {
		t.Setenv(client.TokenVariable, environment[0])
		t.Setenv(client.TokenFileVariable, environment[1])
		if token, err := client.TakeToken(); err == nil || strings.Contains(err.Error(), "cret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %q, %v; want one line without the token", environment, token, err)
		}
	}
}

func TestAnAgentsURLWithAPasswordIsRefusedWithoutShowingIt(t *testing.T) {
	for _, url := range []string{"http://me:secret@198.18.1.2:9100", "198.18.1.2:9100", "ftp://198.18.1.2", "http://", "http://me:secret@198.18.1.2:port"} {
		if _, err := client.New(url, ""); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
