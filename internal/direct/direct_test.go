package direct_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"piecebench/internal/direct"
)

func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"} {
		os.Setenv(name, "http://proxy.example:3128") // Go reads it once
	}
	os.Exit(m.Run())
}

// dialed returns where a transport connects to for a URL.
func dialed(transport *http.Transport, url string) (address string) {
	transport.DialContext = func(_ context.Context, _, to string) (net.Conn, error) {
		address = to
		return nil, errors.New("far enough")
	}
	client := http.Client{Transport: transport}
	if response, err := client.Get(url); err == nil {
		response.Body.Close()
	}
	return address
}

func TestAProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	usual := http.DefaultTransport.(*http.Transport).Clone()
	if got := dialed(usual, "http://198.18.1.2:9100/link"); got != "proxy.example:3128" {
		t.Fatalf("Go's own transport dials %s, so that this test shows nothing", got)
	}
	for url, want := range map[string]string{"http://198.18.1.2:9100/link": "198.18.1.2:9100", "https://host.example/piece": "host.example:443"} {
		if got := dialed(direct.Transport(), url); got != want {
			t.Errorf("%s: it dials %s, want %s", url, got, want)
		}
	}
}

// Go's default client and transport use the environment's proxy: nobody here may.
func TestNobodyUsesGosDefaultClient(t *testing.T) {
	defaults := regexp.MustCompile(`http\.(DefaultClient|DefaultTransport|ProxyFromEnvironment|Get\(|Head\(|Post\(|PostForm\()|http\.Client\{(Timeout: [^,}]*)?\}`)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "data" || entry.Name() == "results" || strings.HasPrefix(entry.Name(), ".") && entry.Name() != "..") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || path == "../direct/direct.go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if found := defaults.Find(text); found != nil {
			t.Errorf("%s uses %s: give the client direct.Transport()", path, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
