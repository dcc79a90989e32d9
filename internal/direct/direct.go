// Package direct sends requests without a proxy. A proxy that the environment names
// (HTTP_PROXY and the like, which a Docker engine may also give to every container)
// would be measured instead of the server, or would not reach a lab at all.
package direct

import "net/http"

// Transport returns a transport like Go's default one that uses no proxy.
func Transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	return t
}
