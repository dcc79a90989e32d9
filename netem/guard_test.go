package netem

import (
	"fmt"
	"io"
	"net"
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

// guarded is a server behind a guard.
func guarded(t *testing.T, g Guard) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "served")
	}))}}
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// ask sends a request and returns the status and the answer.
func ask(t *testing.T, method, url, host string, header map[string]string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

func TestAForeignHostIsRefused(t *testing.T) {
	url := guarded(t, Guard{Names: []string{"bench-server.example"}})
	for host, want := range map[string]int{
		"127.0.0.1:9100": 200, "127.0.0.1": 200, "localhost:9100": 200, "LOCALHOST": 200, "[::1]:9100": 200, "::1": 200,
		"bench-server.example:9100": 200, "Bench-Server.Example.": 200,
		"evil.example": 403, "evil.example:9100": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403, "192.0.2.7:9100": 403, "0x7f000001": 403,
	} {
		for _, method := range []string{http.MethodGet, http.MethodPut} {
			code, text := ask(t, method, url+"/link", host, nil)
			if code != want || want == 403 && (strings.Count(text, "\n") != 1 || !strings.Contains(text, "--names")) {
				t.Errorf("%s, Host %s: %d %q, want %d and one line", method, host, code, text, want)
			}
		}
	}
}

func TestEveryAddressOfTheAgentsHostIsItsOwn(t *testing.T) {
	url := guarded(t, Guard{})
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		host := net.JoinHostPort(a.(*net.IPNet).IP.String(), "9100")
		if code, text := ask(t, http.MethodGet, url, host, nil); code != 200 {
			t.Errorf("Host %s: %d %q", host, code, text)
		}
	}
}

func TestAPageOfAnotherSiteIsRefused(t *testing.T) {
	url := guarded(t, Guard{Token: "secret"})
	for _, c := range []struct {
		header map[string]string
		want   int
	}{
		{map[string]string{}, 200},
		{map[string]string{"Sec-Fetch-Site": "none"}, 200},
		{map[string]string{"Origin": "http://localhost:9100", "Sec-Fetch-Site": "same-origin"}, 200},
		{map[string]string{"Origin": "http://evil.example"}, 403},
		{map[string]string{"Origin": "http://localhost:3000"}, 403},
		{map[string]string{"Origin": "null"}, 403},
		{map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
	} {
		c.header["Authorization"] = "Bearer secret"
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPost, http.MethodOptions} {
			if code, text := ask(t, method, url+"/link", "localhost:9100", c.header); code != c.want || strings.Contains(text, "\n") != (c.want == 403) {
				t.Errorf("%s with %v: %d %q, want %d", method, c.header, code, text, c.want)
			}
		}
	}
}

func TestWithoutTheTokenNothingIsSetOrRead(t *testing.T) {
	url := guarded(t, Guard{Token: "secret"})
	for header, want := range map[string]int{"": 401, "Bearer": 401, "Bearer ": 401, "Bearer secre": 401, "Bearer secret2": 401, "Basic secret": 401, "secret": 401, "Bearer secret": 200} {
		for _, request := range [][2]string{{"GET", "/link"}, {"PUT", "/link"}, {"PUT", "/lease"}, {"GET", "/procs"}, {"GET", "/metrics"}} {
			code, text := ask(t, request[0], url+request[1], "localhost", map[string]string{"Authorization": header})
			if code != want || strings.Contains(text, "secret") {
				t.Errorf("%s %s with %q: %d %q, want %d", request[0], request[1], header, code, text, want)
			}
		}
	}
	for _, path := range []string{"/healthz", "/blob?bytes=1"} {
		if code, text := ask(t, "GET", url+path, "localhost", nil); code != 200 {
			t.Errorf("%s: %d %q", path, code, text)
		}
	}
}

func TestAnAgentWithATokenIsSetByThoseWhoHaveItAlone(t *testing.T) {
	l := newLab(t)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret-of-both\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(client.TokenFileVariable, file)
	l.token = "secret-of-both"
	a := l.start(Auto)
	a.set("100mbit/5ms")
	for _, l.token = range []string{"", "another"} {
		if _, err := l.client(controlAddr).SetLink(t.Context(), link.None); err == nil || !strings.Contains(err.Error(), "401") || !strings.Contains(err.Error(), "AGENT_TOKEN") {
			t.Errorf("with the token %q: %v", l.token, err)
		}
	}
	ld := l.startLoad(1) // what a link is measured with takes none
	for deadline := time.Now().Add(20 * time.Second); ld.bytes.Load() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing comes of /blob")
		}
	}
	commandLine, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", a.cmd.Process.Pid))
	if err != nil || strings.Contains(string(commandLine), "secret") || strings.Contains(a.log.String(), "secret") {
		t.Errorf("the token is seen in the command line %q or the log:\n%s (%v)", commandLine, a.log, err)
	}
}
