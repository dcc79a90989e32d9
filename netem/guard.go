package netem

import (
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"piecebench/netem/client"
)

// Guard protects an agent's API from web pages and strangers. A page in a browser of
// this network can send requests to any address. With a name that resolves to the
// agent's address (DNS rebinding) it can read the answers too. It cannot forge the
// name that it used (Host) or its own origin (Origin).
type Guard struct {
	// Names are those that the agent is called by, besides localhost and its
	// addresses.
	Names []string
	// Token is required in every request; empty: none is.
	Token string
}

// tokenless are the paths that need no token. The health check of a container engine
// has none, and k6, which measures with /blob, does not get it.
var tokenless = []string{"/healthz", "/blob"}

// Wrap returns next behind the guard.
func (g Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		origin := r.Header.Get("Origin")
		site := r.Header.Get("Sec-Fetch-Site")
		switch {
		case !g.named(r.Host, local):
			http.Error(w, fmt.Sprintf("Host %q is not this agent: use its address, or start it with --names", r.Host), http.StatusForbidden)
		case origin != "" && !sameOrigin(origin, r.Host), site != "" && site != "none" && site != "same-origin":
			http.Error(w, fmt.Sprintf("a page of another site (Origin %q) may not use this agent", origin), http.StatusForbidden)
		case g.Token != "" && !slices.Contains(tokenless, r.URL.Path) && !g.shown(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, fmt.Sprintf("this agent wants a token: set %s or %s to the agent's", client.TokenVariable, client.TokenFileVariable), http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// named says whether a request's Host is this agent; local is the address that
// the request came to.
func (g Guard) named(host string, local net.Addr) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || slices.ContainsFunc(g.Names, func(name string) bool { return strings.EqualFold(name, host) }) {
		return true
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		return false
	}
	address = address.Unmap().WithZone("")
	if address.IsLoopback() || address == addressOf(local) {
		return true
	}
	own, _ := net.InterfaceAddrs() // on an error, fewer addresses are known
	return slices.ContainsFunc(own, func(a net.Addr) bool { return address == addressOf(a) })
}

// addressOf returns the IP address of a connection's end, or of a device.
func addressOf(a net.Addr) netip.Addr {
	if a == nil {
		return netip.Addr{}
	}
	if end, err := netip.ParseAddrPort(a.String()); err == nil {
		return end.Addr().Unmap().WithZone("")
	}
	prefix, _ := netip.ParsePrefix(a.String()) // on an error, it is not an address
	return prefix.Addr().Unmap()
}

func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}

func (g Guard) shown(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+g.Token)) == 1
}
