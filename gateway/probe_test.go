package gateway_test

import (
	"testing"
	"time"

	"piecebench/gateway"
	"piecebench/gateway/store"
	"piecebench/internal/testset"
	"piecebench/probe"
)

// TestTheProbeFindsNoFault asks right servers what piecebench probe asks. nginx knows no
// CID v2.
func TestTheProbeFindsNoFault(t *testing.T) {
	d := testset.Import(t, t.TempDir(), 127*8, 10_000, 3<<20)
	addresses := map[string]string{"nginx": startNginx(t, d)}
	for _, name := range []string{store.FlatName, store.UnsealedName} {
		addresses[name] = startGateway(t, d, func(c *gateway.Config) { c.Store = name })
	}
	for name, address := range addresses {
		for _, p := range d.Manifest.Pieces {
			for _, maxBytes := range []int64{8 << 20, 2 << 20} { // of the last piece all, and a part
				r, err := probe.Run(t.Context(), probe.Options{
					URL: "http://" + address + "/piece/{piece}", CID: p.CIDv2, MaxBytes: maxBytes, Timeout: 30 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range r.Findings {
					expected := f.Check == "HTTP/2" || f.Check == "url finder" || name == "nginx" && f.Check == "CID v2"
					if f.Verdict == probe.Fail || f.Verdict == probe.Warn && !expected {
						t.Errorf("%s, %d bytes: %s %s: %s", name, r.Size, f.Verdict, f.Check, f.Seen)
					}
				}
			}
		}
	}
}
