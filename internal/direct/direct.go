// Package direct has requests go straight to the server that they name. A proxy
// that the environment names (HTTP_PROXY and the like, which a Docker engine may
// also give to every container) would be measured instead of it, or not reach a
// lab at all.
package direct

import "net/http"

// Transport returns a transport like Go's default one that uses no proxy.
func Transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	return t
}
