package stubstatus_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"piecebench/netem/stubstatus"
)

// serve answers every request with a status and a body.
func serve(t *testing.T, status int, body string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// collect returns the values of a scrape by name, counters and gauges alike.
func collect(t *testing.T, url string) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(stubstatus.NewCollector(url))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			values[f.GetName()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return values
}

func TestFiguresOfThePage(t *testing.T) {
	// As nginx 1.22 writes it, blanks at line ends included.
	url := serve(t, http.StatusOK, "Active connections: 1001 \nserver accepts handled requests\n 2010 2009 31070465 \nReading: 1 Writing: 950 Waiting: 50 \n")
	want := map[string]float64{
		"nginx_up":                   1,
		"nginx_connections_active":   1001,
		"nginx_connections_accepted": 2010,
		"nginx_connections_handled":  2009,
		"nginx_http_requests_total":  31070465,
		"nginx_connections_reading":  1,
		"nginx_connections_writing":  950,
		"nginx_connections_waiting":  50,
	}
	if got := collect(t, url); !maps.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

func TestWithoutAPageOnlyUpIsThereAndZero(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	for name, url := range map[string]string{
		"nothing listens":  closed.URL,
		"another page":     serve(t, http.StatusOK, "<h1>Welcome to nginx!</h1>"),
		"not found":        serve(t, http.StatusNotFound, "404"),
		"a truncated page": serve(t, http.StatusOK, "Active connections: 1001 \nserver accepts handled requests\n 2010 2009"),
	} {
		t.Run(name, func(t *testing.T) {
			if got := collect(t, url); len(got) != 1 || got["nginx_up"] != 0 {
				t.Errorf("%v, want nginx_up 0 alone", got)
			}
		})
	}
}
