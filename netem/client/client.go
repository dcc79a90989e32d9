// Package client talks to a netem-agent, and holds the types of its API.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"piecebench/internal/direct"
	"piecebench/internal/plain"
	"piecebench/netem/link"
)

// Client is an agent. Its methods may be called concurrently.
type Client struct {
	// HTTP makes the requests; it may be changed before the first.
	HTTP   *http.Client
	base   string
	token  string
	keeper *keeper // nil: links are set without a lease
}

// New returns the agent at a URL such as http://198.18.1.2:9100, which should
// be on the unshaped control network. token is the agent's, or empty if it needs none.
// The client connects at the first call, and never through a proxy.
func New(baseURL, token string) (*Client, error) {
	u, err := url.Parse(baseURL)
	switch {
	case err != nil:
		return nil, errors.New("the link agent's URL is not a URL: want http://host:9100")
	case u.User != nil:
		return nil, fmt.Errorf("the link agent's URL %s holds a password, which would be shown: put the agent's token into %s instead", u.Redacted(), TokenVariable)
	case u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the link agent's URL %q is not a URL: want http://host:9100", baseURL)
	}
	return &Client{
		base:  strings.TrimSuffix(baseURL, "/"),
		token: token,
		HTTP:  &http.Client{Timeout: 30 * time.Second, Transport: direct.Transport()},
	}, nil
}

// Link returns the link as it is.
func (c *Client) Link(ctx context.Context) (State, error) {
	return do[State](ctx, c, http.MethodGet, "/link", nil)
}

// SetLink sets the link and returns it as the kernel reports it afterwards.
func (c *Client) SetLink(ctx context.Context, spec link.Spec) (State, error) {
	state, err := do[State](ctx, c, http.MethodPut, "/link", Request{SettingOf(spec), c.keeper.lease().Seconds()})
	if err == nil {
		c.keeper.hold(state.Lease)
	}
	return state, err
}

// Procs returns what the servers' processes and their host have used so far.
func (c *Client) Procs(ctx context.Context) (Procs, error) {
	return do[Procs](ctx, c, http.MethodGet, "/procs", nil)
}

// Sockets returns what TCP says of the connections to one of the servers' ports.
func (c *Client) Sockets(ctx context.Context, port int) (Sockets, error) {
	return do[Sockets](ctx, c, http.MethodGet, "/sockets?port="+strconv.Itoa(port), nil)
}

// BlobPath returns the path and query for n bytes, with which a link is measured.
// Prefix it with the agent's address on the shaped network.
func BlobPath(n int64) string { return "/blob?bytes=" + strconv.FormatInt(n, 10) }

// Limits of what is read of an answer, and of an error, in bytes.
const (
	maxAnswer  = 16 << 20
	maxMessage = 4 << 10
)

// do sends a request with in as its body, if it is not nil, and decodes the answer.
func do[T any](ctx context.Context, c *Client, method, path string, in any) (out T, err error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return out, fmt.Errorf("netem-agent: %w", err)
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return out, fmt.Errorf("netem-agent: %w", err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		if of := (*url.Error)(nil); errors.As(err, &of) { // which quotes the URL, and what is secret in it
			err = of.Err
		}
		return out, fmt.Errorf("netem-agent does not answer: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		line, _ := io.ReadAll(io.LimitReader(res.Body, maxMessage))
		return out, fmt.Errorf("netem-agent: %s %s%s: %s: %s", method, plain.URL(c.base), path, plain.Line(res.Status), plain.Clip(strings.TrimSpace(string(line)), maxMessage))
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(&out); err != nil {
		return out, fmt.Errorf("netem-agent: %s %s%s: the answer is not what was expected: %w", method, plain.URL(c.base), path, err)
	}
	return out, nil
}
