package gateway_test

import (
	"fmt"
	"testing"
	"time"

	"piecebench/gateway/internal/fixture"
)

// BenchmarkServe compares the stores with nginx on loopback: all of them run,
// and rounds of load go round them in turns, so that what else the machine
// does meets all alike. nginx-ratio is a store's goodput over nginx's.
func BenchmarkServe(b *testing.B) {
	const size = 256 << 20 // larger than a processor's caches
	d := fixture.NewDataset(b, size/128*127, size/128*127)
	bin := fixture.BuildGateway(b)
	type server struct {
		name, address string
		process       *fixture.Process
	}
	servers := []server{{name: "nginx", address: fixture.StartNginx(b, d)}}
	for _, store := range []string{"flat", "unsealed"} {
		address, p := fixture.StartGatewayProcess(b, bin, d, "--store", store, "--access-log=false")
		servers = append(servers, server{store, address, p})
	}
	for _, load := range []fixture.Load{
		{Clients: 10, Range: 1 << 20},
		{Clients: 10, Range: 100 << 20},
		{Clients: 1000, Range: 1 << 20},
		{Clients: 1000, Range: 100 << 20},
	} {
		b.Run(fmt.Sprintf("%dx%dMiB", load.Clients, load.Range>>20), func(b *testing.B) {
			rates := map[string]float64{}
			load.Pieces = d.Manifest.Pieces
			rounds := 0
			for b.Loop() {
				for i := range 2 * len(servers) {
					if i >= len(servers) {
						i = 2*len(servers) - 1 - i // A B C C B A
					}
					load.Address = servers[i].address
					r := load.Run(time.Second)
					if r.Failed > 0 {
						b.Errorf("%s: %d requests failed: %v", servers[i].name, r.Failed, r.FirstErr)
					}
					rates[servers[i].name] += r.Rate()
				}
				rounds += 2
			}
			b.ReportMetric(rates["nginx"]/float64(rounds)/1e6, "nginx-MB/s")
			for _, s := range servers[1:] {
				b.ReportMetric(rates[s.name]/rates["nginx"], s.name+"/nginx")
				b.ReportMetric(float64(s.process.PeakRSS(b))/1e6, s.name+"-RSS-MB")
			}
		})
	}
}
