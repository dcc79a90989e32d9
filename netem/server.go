package netem

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"piecebench/netem/client"
	"piecebench/netem/link"
)

// Handler serves an agent's API; ports are those whose processes /procs and
// /metrics report, and /metrics has what further collectors add. Errors are one
// line of text.
func Handler(a *Agent, ports []int, further ...prometheus.Collector) (http.Handler, error) {
	blob, err := newBlob()
	if err != nil {
		return nil, err
	}
	procs, err := newProcReader(ports)
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(&collector{agent: a, procs: procs})
	registry.MustRegister(further...)

	mux := http.NewServeMux()
	mux.HandleFunc("GET /link", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, a.State)
	})
	mux.HandleFunc("PUT /link", func(w http.ResponseWriter, r *http.Request) {
		answer(w, func() (client.State, error) {
			spec, err := decodeSetting(r.Body)
			if err != nil {
				return client.State{}, err
			}
			return a.Set(spec)
		})
	})
	mux.HandleFunc("GET /procs", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, procs.readWithThreads)
	})
	mux.HandleFunc("GET /sockets", func(w http.ResponseWriter, r *http.Request) {
		answer(w, func() (client.Sockets, error) {
			port, err := strconv.Atoi(r.URL.Query().Get("port"))
			if err != nil || !slices.Contains(ports, port) {
				return client.Sockets{}, badSettingError{fmt.Errorf("port=%q is not one of the servers' (%v)", r.URL.Query().Get("port"), ports)}
			}
			return readSockets(a.device.iface, port)
		})
	})
	mux.Handle("GET /blob", blob)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := a.Healthy(); err != nil {
			fail(w, err)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux, nil
}

// decodeSetting reads a complete setting: a field left out would be a guess.
func decodeSetting(body io.Reader) (link.Spec, error) {
	var in struct {
		RateBits *int64   `json:"rate_bits"`
		DelayMs  *float64 `json:"delay_ms"`
		Loss     *float64 `json:"loss"`
	}
	const example = `send {"rate_bits":1000000000,"delay_ms":40,"loss":0}`
	decoder := json.NewDecoder(io.LimitReader(body, 4096))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&in)
	if err == nil && decoder.More() {
		err = errors.New("something follows it")
	}
	if err != nil {
		return link.None, badSettingError{fmt.Errorf("the body is not a link setting: %w: %s", err, example)}
	}
	if in.RateBits == nil || in.DelayMs == nil || in.Loss == nil {
		return link.None, badSettingError{errors.New("the link setting is not complete: " + example)}
	}
	return client.Setting{RateBits: *in.RateBits, DelayMs: *in.DelayMs, Loss: *in.Loss}.Spec(), nil
}

func answer[T any](w http.ResponseWriter, get func() (T, error)) {
	value, err := get()
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// An error here is the client's connection, which has nobody left to tell.
	_ = json.NewEncoder(w).Encode(value)
}

// fail answers 400 for what is wrong everywhere, 409 for what this machine
// cannot do, and 500 for what went wrong.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	var bad badSettingError
	switch {
	case errors.As(err, &bad):
		status = http.StatusBadRequest
	case errors.Is(err, errNoLoss):
		status = http.StatusConflict
	}
	http.Error(w, strings.ReplaceAll(err.Error(), "\n", "; "), status)
}
