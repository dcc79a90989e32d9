package netem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"piecebench/host"
	"piecebench/netem/client"
	"piecebench/netem/link"
)

// Handler serves an agent's API; servers are those whose processes /procs and
// /metrics report, and /metrics has what further collectors add. Errors are one
// line of text.
func Handler(a *Agent, servers []Server, further ...prometheus.Collector) (http.Handler, error) {
	blob, err := newBlob()
	if err != nil {
		return nil, err
	}
	procs, err := newProcReader(servers)
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(&collector{agent: a, procs: procs})
	registry.MustRegister(further...)

	mux := http.NewServeMux()
	mux.Handle("GET /link", answer(func(*http.Request) (client.State, error) { return a.State() }))
	mux.Handle("PUT /link", answer(func(r *http.Request) (client.State, error) {
		spec, lease, err := decodeSetting(r.Body)
		if err != nil {
			return client.State{}, err
		}
		return a.Set(spec, lease)
	}))
	mux.Handle("PUT /lease", answer(func(r *http.Request) (client.State, error) {
		id, length, err := decodeRenewal(r.Body)
		if err != nil {
			return client.State{}, err
		}
		return a.Renew(id, length)
	}))
	mux.Handle("GET /procs", answer(func(*http.Request) (client.Procs, error) { return procs.readWithThreads() }))
	mux.Handle("GET /sockets", answer(func(r *http.Request) (client.Sockets, error) {
		port, err := strconv.Atoi(r.URL.Query().Get("port"))
		if err != nil || !slices.ContainsFunc(servers, func(s Server) bool { return s.Port == port }) {
			return client.Sockets{}, badSettingError{fmt.Errorf("port=%q is not one of the servers': name it in the agent's --ports", r.URL.Query().Get("port"))}
		}
		return a.sockets(port)
	}))
	mux.Handle("GET /blob", blob)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		if conn, ok := r.Context().Value(connectionKey{}).(net.Conn); ok {
			w.Header().Set(client.CongestionControlHeader, host.CongestionControl(conn))
		}
		if err := a.Healthy(); err != nil {
			fail(w, err)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux, nil
}

type connectionKey struct{}

// WithConnection is the ConnContext of a server of Handler: a request then knows its
// connection.
func WithConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// decode reads a JSON body that has no field but those of in.
func decode(body io.Reader, in any, what, example string) error {
	decoder := json.NewDecoder(io.LimitReader(body, 4096))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(in)
	if err == nil && decoder.More() {
		err = errors.New("something follows it")
	}
	if err != nil {
		return badSettingError{fmt.Errorf("the body is not a %s: %w: %s", what, err, example)}
	}
	return nil
}

// decodeSetting reads a complete setting. Only the lease is optional: any other default
// would be a guess.
func decodeSetting(body io.Reader) (link.Spec, time.Duration, error) {
	var in struct {
		RateBits *int64   `json:"rate_bits"`
		DelayMs  *float64 `json:"delay_ms"`
		Loss     *float64 `json:"loss"`
		LeaseS   float64  `json:"lease_s"`
	}
	const example = `send {"rate_bits":1000000000,"delay_ms":40,"loss":0}`
	if err := decode(body, &in, "link setting", example); err != nil {
		return link.None, 0, err
	}
	if in.RateBits == nil || in.DelayMs == nil || in.Loss == nil {
		return link.None, 0, badSettingError{errors.New("the link setting is not complete: " + example)}
	}
	lease, err := leaseLength(in.LeaseS)
	return client.Setting{RateBits: *in.RateBits, DelayMs: *in.DelayMs, Loss: *in.Loss}.Spec(), lease, err
}

func decodeRenewal(body io.Reader) (id string, length time.Duration, err error) {
	var in client.Renewal
	if err := decode(body, &in, "renewal of a lease", `send {"lease":"...","lease_s":60}, or 0 seconds to end it`); err != nil {
		return "", 0, err
	}
	length, err = leaseLength(in.LeaseS)
	return in.Lease, length, err
}

func leaseLength(seconds float64) (time.Duration, error) {
	length := time.Duration(seconds * float64(time.Second))
	if seconds < 0 || seconds > maxLease.Seconds() || seconds > 0 && length == 0 {
		return 0, badSettingError{fmt.Errorf("lease_s is %g: want seconds up to %.0f, or 0 for none", seconds, maxLease.Seconds())}
	}
	return length, nil
}

// answer serves as JSON what ask returns.
func answer[T any](ask func(*http.Request) (T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := ask(r)
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		// An error here means that the client's connection is gone: nobody to report it to.
		_ = json.NewEncoder(w).Encode(value)
	}
}

// fail answers 400 for what is wrong everywhere, 409 for what this machine
// cannot do, 410 for a lease that has ended, and 500 for what went wrong.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	var bad badSettingError
	switch {
	case errors.As(err, &bad):
		status = http.StatusBadRequest
	case errors.Is(err, errNoLoss):
		status = http.StatusConflict
	case errors.Is(err, errLeaseGone):
		status = http.StatusGone
	}
	http.Error(w, strings.ReplaceAll(err.Error(), "\n", "; "), status)
}
