package lab_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"piecebench/internal/testneeds"
	"piecebench/lab"
	"piecebench/lab/labtest"
)

func configWithPrometheus(t *testing.T) lab.Config {
	testneeds.Root(t)
	testneeds.Program(t, "prometheus")
	cfg := labtest.Config(t, labtest.Install(t, "piece-gateway", "netem-agent", "piecebench"))
	cfg.Prometheus.Port = labtest.FreePort(t)
	return cfg
}

// upWarns brings a lab up and returns its warnings.
func upWarns(t *testing.T, l lab.Lab, cfg lab.Config) string {
	t.Helper()
	var warnings strings.Builder
	if err := l.Up(cfg, &warnings); err != nil {
		t.Fatal(err)
	}
	return warnings.String()
}

func state(t *testing.T, l lab.Lab) lab.State {
	t.Helper()
	s, err := l.State()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// awaitSeries waits until a query has a result.
func awaitSeries(t *testing.T, prometheus, query string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var last string
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		response, err := client.Get(prometheus + "/api/v1/query?query=" + url.QueryEscape(query))
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Data struct{ Result []json.RawMessage }
		}
		err = json.NewDecoder(response.Body).Decode(&answer)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if len(answer.Data.Result) > 0 {
			return
		}
		last = fmt.Sprint(answer)
	}
	t.Errorf("no series for %s: %s", query, last)
}

func TestPrometheusScrapesAndIsSeenOnTheHostWhileTheLabIsUp(t *testing.T) {
	cfg := configWithPrometheus(t)
	l := labtest.New(t, "a")
	if said := upWarns(t, l, cfg); said != "" {
		t.Errorf("warned: %s", said)
	}
	s := state(t, l)
	if want := fmt.Sprintf("http://127.0.0.1:%d", cfg.Prometheus.Port); s.PrometheusURL != want {
		t.Fatalf("Prometheus at %q, want %s", s.PrometheusURL, want)
	}
	for _, query := range []string{`up{job="gateway"} == 1`, `up{job="netem"} == 1`, "nginx_up == 1", "nginx_connections_active", "netem_link_rate_bits", "piece_gateway_pieces"} {
		awaitSeries(t, s.PrometheusURL, query)
	}
	if got := fetch(t, l, "http://127.0.0.1:9090/-/ready"); !strings.HasPrefix(got, "200") {
		t.Errorf("the clients see Prometheus answer %s", got)
	}
	if !strings.Contains(strings.Join(l.Environment(), "\n"), "PROMETHEUS_URL=http://127.0.0.1:9090") {
		t.Errorf("the runner is not told: %v", l.Environment())
	}
	for _, file := range []string{cfg.Prometheus.Data, filepath.Join(cfg.Prometheus.Data, "wal")} {
		if info, err := os.Stat(file); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", file, err)
		}
	}
	if err := l.Down(); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(s.PrometheusURL, "http://")); err == nil {
		conn.Close()
		t.Error("the port on the host is still open")
	}
	// What it has collected is there when the lab is up again.
	if said := upWarns(t, l, cfg); said != "" {
		t.Errorf("warned the second time: %s", said)
	}
	awaitSeries(t, s.PrometheusURL, `present_over_time(up{job="gateway"}[1h]) and count_over_time(up{job="gateway"}[1h] offset 2s) > 0`)
}

func TestALabWithoutPrometheusOfItsOwnIsWhole(t *testing.T) {
	cfg := configWithPrometheus(t)
	first := labtest.New(t, "a")
	upWarns(t, first, cfg)
	for _, c := range []struct {
		name string
		make func(t *testing.T, cfg *lab.Config)
		says string
	}{
		{"the database is another lab's", func(_ *testing.T, cfg *lab.Config) {}, "belongs to the Prometheus of another lab"},
		{"it is not installed", func(t *testing.T, cfg *lab.Config) {
			cfg.Prometheus.Data = t.TempDir()
			t.Setenv("PATH", pathWithout(t, "prometheus"))
		}, "install the package prometheus"},
		{"its configuration is wrong", func(t *testing.T, cfg *lab.Config) {
			cfg.Prometheus.Data = t.TempDir()
			cfg.Prometheus.Conf = filepath.Join(t.TempDir(), "prometheus.yml")
			if err := os.WriteFile(cfg.Prometheus.Conf, []byte("scrape: everything\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "field scrape not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := labtest.New(t, "b")
			cfg := cfg
			c.make(t, &cfg)
			said := upWarns(t, l, cfg)
			if strings.Count(said, "\n") != 1 || !strings.Contains(said, c.says) {
				t.Errorf("said %q; want one line with %q", said, c.says)
			}
			if s := state(t, l); s.PrometheusRuns || s.PrometheusURL != "" {
				t.Errorf("it passes for one that runs: %+v", s)
			}
			if !strings.Contains(strings.Join(l.Environment(), "\n")+"\n", "PROMETHEUS_URL=\n") {
				t.Errorf("the runner is told of one: %v", l.Environment())
			}
			if got := fetch(t, l, "http://198.18.1.2:7777/healthz"); !strings.HasPrefix(got, "200") {
				t.Errorf("the gateway answers %s", got)
			}
			up(t, l, cfg) // finds it whole
		})
	}
}

func TestAPortThatIsTakenIsReplaced(t *testing.T) {
	cfg := configWithPrometheus(t)
	taken, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", cfg.Prometheus.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	l := labtest.New(t, "a")
	said := upWarns(t, l, cfg)
	s := state(t, l)
	if strings.Count(said, "\n") != 1 || s.PrometheusURL == "" || !strings.Contains(said, s.PrometheusURL) {
		t.Errorf("said %q; want one line with the other address, %q", said, s.PrometheusURL)
	}
	awaitSeries(t, s.PrometheusURL, "up")
}

// pathWithout returns a PATH on which the programs of the present one are, but
// for one.
func pathWithout(t *testing.T, program string) string {
	t.Helper()
	dir := t.TempDir()
	for _, from := range filepath.SplitList(os.Getenv("PATH")) {
		entries, _ := os.ReadDir(from)
		for _, e := range entries {
			if e.Name() != program {
				_ = os.Symlink(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())) // the first on PATH is there already
			}
		}
	}
	return dir
}
