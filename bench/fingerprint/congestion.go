package fingerprint

import (
	"context"
	"net"
	"net/http"
	"time"

	"piecebench/host"
	"piecebench/internal/direct"
	"piecebench/netem/client"
)

// congestionControl sets the congestion control at both ends of a connection through the
// link. agent is the URL of the link agent on the shaped network.
func (f facts) congestionControl(agent string) {
	var own net.Conn
	transport := direct.Transport()
	transport.DialContext = func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		own, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return own, err
	}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get(agent + "/healthz")
	if err != nil {
		return
	}
	defer answer.Body.Close()
	f.set("congestion control of the clients", host.CongestionControl(own))
	f.set("congestion control of the servers", answer.Header.Get(client.CongestionControlHeader))
}
